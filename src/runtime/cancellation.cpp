#include "grapevine/runtime/cancellation.hpp"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace grapevine {

void throw_cancelled() {
  throw boost::system::system_error(boost::asio::error::operation_aborted, "cancelled");
}

bool is_cancellation(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (boost::system::system_error const& thrown) {
    return thrown.code() == boost::asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace grapevine
