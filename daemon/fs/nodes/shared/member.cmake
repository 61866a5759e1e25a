cortexfs_member(SOURCES shared_area.cpp ENTRY cortexfs::fs::nodes::sharedArea HEADER shared_area.h)
