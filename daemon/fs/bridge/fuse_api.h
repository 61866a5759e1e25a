// The one way to libfuse's low-level API. Only this folder includes it.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
