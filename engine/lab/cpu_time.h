// Processor time that a thread and the process have used, as the system counts it.
//
// Contract: seconds since the thread or the process began. Reading is a system call of some tenths of a microsecond.
// The time that it reads includes this; reading_seconds() says how much. Threads: any.
#pragma once

namespace tandem::sync_lab {

double thread_cpu_seconds();
double process_cpu_seconds();
double reading_seconds();  // median difference of two readings in a row; measured once

}  // namespace tandem::sync_lab
