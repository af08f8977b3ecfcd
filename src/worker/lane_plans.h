/* The lane's entries for plans, as backend.h says. */
#ifndef CVY_LANE_PLANS_H
#define CVY_LANE_PLANS_H

#include "backend.h"

convoy_status cvy_lane_plan_job(cvy_device *device, uint64_t plan, const cvy_job *job);
convoy_status cvy_lane_plan_copy(cvy_device *device, uint64_t plan, cvy_operand from,
                                 cvy_operand to, int64_t bytes);
convoy_status cvy_lane_plan_bind(cvy_device *device, uint64_t plan, int32_t first, int32_t count,
                                 const cvy_base *to);
convoy_status cvy_lane_plan_tap(cvy_device *device, uint64_t plan, int32_t step, uint64_t to,
                                int32_t count, const cvy_tap *taps);
convoy_status cvy_lane_plan_run(cvy_device *device, uint64_t plan, uint64_t run, uint64_t *ticket);
convoy_status cvy_lane_plan_drop(cvy_device *device, uint64_t plan);
int32_t cvy_lane_plan_step(const cvy_device *device, uint64_t ticket);

#endif
