cortexfs_member(SOURCES debug_format.cpp script.cpp ENTRY cortexfs::wire::debug::format HEADER debug_format.h)
