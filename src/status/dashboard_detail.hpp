// The dashboard: one page without outside parts, which reads /status and /history by itself.
#pragma once

#include <string_view>

namespace grapevine {

[[nodiscard]] std::string_view dashboard_html();

}  // namespace grapevine
