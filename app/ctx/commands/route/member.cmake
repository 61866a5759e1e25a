cortexfs_member(SOURCES route.cpp show.cpp check.cpp edit.cpp explain.cpp
  ENTRY cortexfs::ctx::route_command::command HEADER route.h)
