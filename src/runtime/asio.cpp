// The compiled part of Boost.Asio (BOOST_ASIO_SEPARATE_COMPILATION): once in the program, here.
#include <boost/asio/impl/src.hpp>
