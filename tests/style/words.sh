#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The Rondo Authors
#
# No leftovers in the sources. Usage: words.sh SOURCE_ROOT
cd "$1" || exit 2
found=$(grep -rnE '\b(TODO|FIXME|XXX|HACK)\b|#if 0' src device transport include perf tests --include='*.h' --include='*.cc' \
  --include='*.py' --include='*.txt')
[ -z "$found" ] || { echo "$found"; exit 1; }
missing=$(grep -rLE 'SPDX-License-Identifier: Apache-2.0' src device transport include perf tests --include='*.h' --include='*.cc' --include='*.py' --include='*.sh')
[ -z "$missing" ] || { echo "no licence line: $missing"; exit 1; }
