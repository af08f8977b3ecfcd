/* What this build is: version, and what was compiled in. Static storage. */
#ifndef CVY_BUILD_INFO_H
#define CVY_BUILD_INFO_H

const char *cvy_version(void);
const char *cvy_build_info(void);

#endif
