cortexfs_member(SOURCES home_area.cpp ENTRY cortexfs::fs::nodes::homeArea HEADER home_area.h)
