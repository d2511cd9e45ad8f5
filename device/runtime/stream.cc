// SPDX-License-Identifier: Apache-2.0
// Copyright The Rondo Authors
#include "device/runtime/capture.h"
#include "device/runtime/runtime.h"
#include "device/runtime/vendor.h"

namespace rondo::runtime {

namespace {
vendor::EventHandle handleOf(void* event) {
  return static_cast<vendor::EventHandle>(event);
}
}  // namespace

Event::Event() {
  const RelaxedCapture relaxed;
  vendor::EventHandle event = nullptr;
  check(vendor::createEvent(&event), "creation of an event");
  event_ = event;
}

Event::~Event() {
  (void)vendor::destroyEvent(handleOf(event_));
}

void Event::record(Stream stream) {
  check(vendor::recordEvent(handleOf(event_), stream), "record of an event");
}

void Event::wait() const {
  const RelaxedCapture relaxed;
  check(vendor::synchronizeEvent(handleOf(event_)), "wait for an event");
}

bool Event::done() const {
  const RelaxedCapture relaxed;
  const vendor::Code code = vendor::queryEvent(handleOf(event_));
  if (code == vendor::kNotReady) return false;
  check(code, "query of an event");
  return true;
}

void Event::makeWait(Stream stream) const {
  check(vendor::waitEvent(stream, handleOf(event_)), "wait of a stream for an event");
}

OwnedStream::OwnedStream() {
  const RelaxedCapture relaxed;
  check(vendor::createStream(&stream_), "creation of a stream");
}

OwnedStream::~OwnedStream() {
  (void)vendor::destroyStream(stream_);
}

void OwnedStream::synchronize() const {
  const RelaxedCapture relaxed;
  check(vendor::synchronizeStream(stream_), "wait for a stream");
}

bool isCapturing(Stream stream) {
  bool capturing = false;
  check(vendor::isCapturing(stream, &capturing), "capture status of a stream");
  return capturing;
}

IdleHelp::IdleHelp(std::function<bool()> help) : help_(std::move(help)) {
  const auto call = [](void* self) { return static_cast<IdleHelp*>(self)->help_() ? 1 : 0; };
  check(vendor::startHelp(call, this), "registration of a helper");
}

IdleHelp::~IdleHelp() {
  vendor::stopHelp(this);
}

}  // namespace rondo::runtime
