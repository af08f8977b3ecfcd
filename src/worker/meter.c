#include "worker/meter.h"

#include <math.h>

#include "os/os.h"

cvy_meter cvy_meter_begin(double *budget) {
  return (cvy_meter){budget, cvy_os.clock()};
}

double cvy_meter_look(cvy_meter *meter, double most) {
  double now = cvy_os.clock(), counted = fmin(now - meter->last, most);
  meter->last = now;
  cvy_meter_uncharge(meter, -counted);
  return counted;
}

void cvy_meter_end(cvy_meter *meter) {
  cvy_meter_look(meter, CVY_LOOK_SECONDS);
}

void cvy_meter_uncharge(const cvy_meter *meter, double seconds) {
  if (meter->budget) *meter->budget += seconds;
}
