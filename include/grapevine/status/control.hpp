// Control: what may be asked of a peer over HTTP by whoever can read HOME/control.token. The node's
// own program gives one to the status server; tests give their own. Loop thread only.
#pragma once

#include "grapevine/base/random.hpp"
#include "grapevine/runtime/clock.hpp"
#include "grapevine/runtime/storage.hpp"

#include <string>
#include <string_view>

namespace grapevine {

enum class Command : std::uint8_t { pause, resume, leave, checkpoint };
[[nodiscard]] std::string_view to_string(Command command);

class Control {
 public:
  virtual ~Control() = default;
  // Has it done, or says why it could not be.
  virtual Awaitable<Result<>> carry_out(Command command) = 0;
};

// HOME/control.token, mode 0600: the one from before, or 256 random bits in hex. Blocking.
[[nodiscard]] Result<std::string> load_or_create_control_token(Storage& storage, Random& random);

}  // namespace grapevine
