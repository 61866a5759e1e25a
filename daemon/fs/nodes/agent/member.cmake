cortexfs_member(SOURCES agent_area.cpp ENTRY cortexfs::fs::nodes::agentArea HEADER agent_area.h)
