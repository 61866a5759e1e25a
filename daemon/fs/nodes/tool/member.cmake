cortexfs_member(SOURCES tool_area.cpp ENTRY cortexfs::fs::nodes::toolArea HEADER tool_area.h)
