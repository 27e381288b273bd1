// The processor time that a thread and the process have used, as the system counts it.
//
// Contract: seconds since the thread or the process began. Reading is a system call of some tenths of a microsecond,
// which is in the time it reads; reading_seconds() says how much. Threads: any.
#pragma once

namespace tandem::sync_lab {

double thread_cpu_seconds();
double process_cpu_seconds();
double reading_seconds();  // what two neighbouring readings of the thread's time differ by, median; measured once

}  // namespace tandem::sync_lab
