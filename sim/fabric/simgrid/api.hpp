// The C interface between traintwin and the SimGrid module (libtwin_simgrid.so, loaded by dlopen: linking SimGrid would
// cost every process 38 ms). The module runs flows on links; the caller decides, in call-backs, what starts when. Times
// are seconds since the run began; capacities and caps bytes/s. One run at a time per process.
#pragma once

extern "C" {

struct TwinSimgridCalls {  // filled by the module, valid during the run
  void* engine;
  // A flow over a path of distinct links. Over a dead link it fails at once (ended() is called).
  void (*start)(void* engine, int flow, const int* links, int count, double bytes);
  void (*timer)(void* engine, double at, int token);              // calls timer() then; at >= now
  void (*set_capacity)(void* engine, int link, double capacity);  // from ready() or timer(); 0: flows on it fail
};

struct TwinSimgridClient {
  void* user;
  void (*ready)(void* user, double now);
  void (*ended)(void* user, int flow, double now, double remaining_bytes, int failed);
  void (*timer)(void* user, int token, double now);
};

// nullptr: done. Else a message (static).
typedef const char* (*TwinSimgridRun)(const double* capacity, int links, const struct TwinSimgridClient* client,
                                      struct TwinSimgridCalls* calls);
}

#define TWIN_SIMGRID_SYMBOL "twin_simgrid_run"
