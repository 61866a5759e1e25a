cortexfs_member(SOURCES doctor.cpp local_checks.cpp ENTRY cortexfs::ctx::doctor_command::command HEADER doctor.h)
