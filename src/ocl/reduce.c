/* ocl.reduce: a work-group or an item reduces a piece, and where a result has several pieces a
 * second kernel puts them together. It takes what fits a device's work-groups, local memory and
 * workspace, and whose operands can be said in the arguments that every device takes. */
#include "ocl/rows.h"

#include "ocl/plan.h"
#include "ocl/program.h"
#include "ocl/reduce_kernel.h"

static int64_t workspace(const cvy_problem *problem, const cvy_facts *facts,
                         const cvy_params *params) {
  (void)facts;
  (void)params;
  return cvy_reduce_partial(&problem->reduce) * (int64_t)sizeof(float);
}

/* Items of the larger work-group of the two kernels. */
static int64_t group_items(const cvy_reduce_launch *sized) {
  bool combines = sized->combined && sized->group < CVY_REDUCE_COMBINE;
  return combines ? CVY_REDUCE_COMBINE : sized->group;
}

static bool runs_on(const cvy_reduce_launch *sized, const cvy_facts *facts, cvy_text *reason) {
  int64_t items = group_items(sized), bytes = sized->partial * (int64_t)sizeof(float);
  int64_t local = sized->local ? CVY_REDUCE_LOCAL_BYTES : 0;
  if (items > facts->max_work_group) {
    cvy_text_add(reason, "it needs work-groups of %lld items, the device has %lld",
                 (long long)items, (long long)facts->max_work_group);
  } else if (local > facts->local_memory_bytes) {
    cvy_text_add(reason, "it needs %lld bytes of local memory, the device has %lld",
                 (long long)local, (long long)facts->local_memory_bytes);
  } else if (bytes > cvy_ocl_scratch_limit(facts)) {
    cvy_text_add(reason, "partial results of %lld bytes, of workspace there may be %lld",
                 (long long)bytes, (long long)cvy_ocl_scratch_limit(facts));
  } else {
    return true;
  }
  return false;
}

static bool accepts(const cvy_problem *problem, const cvy_facts *facts, cvy_text *reason) {
  int64_t offsets[CVY_BLOCK_ARRAYS];
  cvy_reduce_launch sized;
  cvy_ocl_farthest_offsets(problem, facts, cvy_reduce_partial(&problem->reduce), offsets);
  return cvy_reduce_launch_fits(&problem->reduce, offsets, &sized, reason) &&
         runs_on(&sized, facts, reason);
}

const cvy_algorithm cvy_ocl_reduce = {
    .name = "ocl.reduce",
    .operations = CVY_OPERATION_BIT(CVY_REDUCE),
    .accepts = accepts,
    .workspace = workspace,
    .conservative = true,
};
