// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// What planning is told about the device.
#include <gtest/gtest.h>

#include "device/runtime/runtime.h"

namespace rondo {
namespace {

TEST(DeviceProperties, OfTheEmulatedDevice) {
  const runtime::DeviceProperties properties = runtime::deviceProperties(3);
  EXPECT_TRUE(properties.isEmulated);
  EXPECT_EQ(properties.waveSize, 64);
  EXPECT_EQ(properties.multiprocessors * properties.residentBlocks, 256);
  EXPECT_NE(properties.busId, runtime::deviceProperties(4).busId);
  EXPECT_NE(properties.name, "");
}

}  // namespace
}  // namespace rondo
