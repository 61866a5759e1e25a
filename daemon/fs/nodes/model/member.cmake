cortexfs_member(SOURCES model_area.cpp model_listing.cpp model_changes.cpp ENTRY cortexfs::fs::nodes::modelArea HEADER model_area.h)
