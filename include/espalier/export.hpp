// Marks what the shared libraries export; everything else is hidden.
#pragma once

#if defined(__GNUC__) && defined(ESPALIER_BUILDING)
#define ESPALIER_API __attribute__((visibility("default")))
#else
#define ESPALIER_API
#endif
