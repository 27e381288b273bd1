// Results of the laboratory made up for tests: figures written by hand, without a device.
#pragma once

#include <string>

#include "engine/lab/results.h"

namespace tandem::testing {

inline Distribution around(double p50) { return {100, p50 * 0.9, p50, p50 * 1.1, p50 * 2, p50 * 30, p50}; }

inline sync_lab::SyncRow lab_row(sync::Policy policy, double work, double overhead, double cpu) {
  sync_lab::SyncRow row;
  row.policy = policy;
  row.work_seconds = work;
  row.verified_steps = 100;
  row.round_trip = around(work + overhead);
  row.overhead = around(overhead);
  row.cpu_thread_seconds = cpu;
  row.chained_per_second = 1 / (work + overhead);
  row.single_per_second = 0.5 / (work + overhead);
  return row;
}

inline sync_lab::LabResult lab_result() {
  using namespace sync_lab;
  LabResult result;
  result.machine.processor = "A <processor> & \"more\"";
  result.machine.system = "System";
  result.machine.cores = {0, 1};
  result.machine.timer_hz = 250;
  result.machine.load_average = {0.1, 0.2, 0.3};
  DeviceResult device;
  device.id = "opencl:0";
  device.name = "Device";
  device.driver = "Driver 1.0";
  device.cores = {0};
  device.waiter_core = 1;
  device.limit = sync_lab::CacheLine{{1, 0}, around(0.1e-6), 0.099e-6, 0.101e-6};
  for (const double work : {0.0, 1e-3}) {
    device.rows.push_back(lab_row(sync::Policy::blocking, work, 50e-6, 10e-6));
    device.rows.push_back(lab_row(sync::Policy::spin, work, 20e-6, work + 20e-6));
    device.rows.push_back(lab_row(sync::Policy::predict, work, 22e-6, 0.1 * work + 20e-6));
    device.rows.push_back(lab_row(sync::Policy::gate, work, 0.8e-6, work + 1e-6));
    device.rows.push_back(lab_row(sync::Policy::doorbell, work, 0.11e-6, work + 0.1e-6));
  }
  device.rows[3].to_device = around(0.5e-6);
  device.rows[3].to_host = around(0.3e-6);
  device.rows[2].prediction_error = 0.03;
  device.rows[1].neighbour_slowdown = 0.5;
  SyncRow off;
  off.policy = sync::Policy::event;
  off.status = RowStatus::off;
  off.reason = "the driver has <no> events";
  device.rows.push_back(off);
  SyncRow crowded = lab_row(sync::Policy::spin, 1e-3, 4e-3, 1e-3);
  crowded.spinners = 2;
  device.rows.push_back(crowded);
  result.devices.push_back(device);
  return result;
}

}  // namespace tandem::testing
