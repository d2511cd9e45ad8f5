// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include <gtest/gtest.h>

extern "C" int rondoTestHeaderC11(void);
extern "C" int rondoTestHeaderCxx17();

TEST(Headers, WorkAsC11) {
  EXPECT_EQ(rondoTestHeaderC11(), 0);
}
TEST(Headers, WorkAsCxx17) {
  EXPECT_EQ(rondoTestHeaderCxx17(), 0);
}
