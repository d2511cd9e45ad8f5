// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
//
// The FIFO (struct in device/shared/fifo.h): one producer, one consumer, 'depth' slots, two step counters that only grow.
//
// Why no slot is read early or overwritten early. Let s be a step and i = s mod depth its slot.
// F1  0 <= tail - head <= depth. The producer publishes s + 1 only after F2 held for s, the consumer publishes s + 1 only
//     after F4 held for s; both start equal.
// F2  Before writing slot i for step s the producer has seen head > s - depth with acquire: the consumer has released
//     step s - depth, the slot's previous user. The acquire pairs with the release of F4, so the consumer's reads of the
//     old bytes come before the producer's new writes. (progress.h: the sender lane; its grant carries the order on.)
// F3  tail = s + 1 is a release at system scope after every worker wave has drained its stores and arrived: worker wave
//     -> done[w] (release) -> progress wave (acquire, syncWave) -> tail (release). A barrier and one lane's release alone
//     would not publish other waves' stores on AMD, hence drainStores in each wave before done[w].
// F4  The consumer reads slot i for step s only after it has seen tail > s with acquire (pairs with F3), and releases
//     head = s + 1 after every worker wave has read it, by the same path as F3.
// F5  Nobody waits for a step while holding back what the step's producer needs. A chain (broadcast) has no cycle. In a
//     ring, a rank that holds the received step r while it waits for credit for its step r + k (k steps per chunk) waits
//     for its successor to release step r + k - depth. If k <= depth - 1 that is an older step than the one the successor
//     holds, so along the ring the steps would have to decrease for ever: no cycle. Otherwise (depth 1) the algorithm
//     releases before it sends (RingArgs::split).
// F6  Only worker waves' stores move bytes here; where a network does, the proxy publishes tail after the completion of
//     the transfer (transport/fabric/receive_connection.cc).
// F7  Steps are posted in order: tail and head are stored by one lane each, only upwards; one store may publish several.
// The counters are 64 bits wide and never wrap.
#pragma once

#include "device/arch/arch.h"
#include "device/shared/fifo.h"

namespace rondo {

RONDO_DEVICE char* slotAddress(const Fifo& fifo, uint64_t step) {
  return fifo.slots + (step & (fifo.depth - 1)) * slotStride(fifo.slotBytes) + kSlotHeaderRoom;
}

RONDO_DEVICE SlotHeader& slotHeader(const Fifo& fifo, uint64_t step) {
  return reinterpret_cast<SlotHeader*>(slotAddress(fifo, step))[-1];
}

}  // namespace rondo
