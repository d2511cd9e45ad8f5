// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// fmt's function bodies, compiled here once: fmt's header-only mode costs 4 s of compile time per source file, and its
// shared library would be one more thing that users of librondo must have.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

// The templates that fmt's headers only declare.
template char decimal_point_impl<char>(locale_ref);
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
