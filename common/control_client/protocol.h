// cortexfs.control/v1: the daemon's control socket (decisions, section 2). JSONL over a unix stream socket, 1 MiB a
// frame. A request is {"op":OP,"id":ID,...}; every reply carries the same id; the last one is
//     {"id":ID,"type":"result",...}   or   {"id":ID,"type":"error","code":ERRNO,"message":TEXT}
// and streams send other frames before it. Requests on one connection run concurrently. The peer is who the kernel says
// (SO_PEERCRED). A frame that is no request gets {"id":null,"type":"error","code":"EINVAL"}; the connection stays. An id is
// a string (or a number) of at most 256 bytes as JSON text.
// Over 1 MiB: EMSGSIZE and close.
//
// Every peer may exec, status, doctor, provider.list, provider.get, provider.preset.list, model.list, route.get,
// route.check, route.explain, session.list, session.show, metrics. The others need uid 0, the daemon's own uid, or the group `cortexfs`: EACCES.
//
// A put carries the etag of the text it was made from ("" for a file that must not be there yet): ESTALE when the file has
// changed meanwhile, and nothing is written. Every put is checked as the file would be when read: EINVAL leaves the old one.
//
//   exec        {object:"model/P/M", argv:[TEXT], stdin:TEXT|null, stdin_open:BOOL?, cwd, tty:BOOL}
//               With "stdin_open":true more follows as {"op":"stdin","id":ID,"data":TEXT,"eof":BOOL} (same id, no reply);
//               over 16 MiB in all EMSGSIZE. argv wins over stdin; the words of argv are joined by one blank.
//               Stream: one frame an event, the canonical event with the id before its first key:
//                   {"id":ID,"type":"start","run":"r...","model":"P/M"}
//               always start ... done, also when the object does not exist. Then
//                   {"id":ID,"type":"result","exit":N,"diagnostic":TEXT?}
//               exit is the ABI's exit code, diagnostic the one line for stderr.
//               With tty and no input: no stream, result with exit 2 and "usage":TEXT. A field of a wrong type is EINVAL
//               without a stream; wrong types in a stdin frame end the stream with EINVAL.
//   cancel      {id:ID}: ID of a running exec of this connection; no reply of its own, the exec ends with done cancelled.
//   status      -> state version pid mode mount config state_dir runtime fuse:BOOL uptime_ms providers models runs
//                  problems:[{where,code,message}]
//   doctor      -> checks:[{name,status:"ok"|"warning"|"error",message,hint}]
//   refresh     -> providers models problems:[...]     re-reads the configuration
//   model.list  {provider?, after?:"P/M"} ->
//                  models:[{name,id,driver:{default:[...],exec:[...],socket:[...],agent:[...]},cap:[...],effort,
//                           limit:N|null,session,state}]     by name
//                  more:BOOL    true: ask again with `after` = the last name
//                  aliases:[{name,target:"P/M",user:BOOL}]    on the first page only
//   provider.list -> providers:[{name,file,base_url,enabled,formats,default_model,models:N,key:"filled"|"missing"|"none"}]
//                    invalid:[{file,code,message}]
//   provider.get  {name | file} -> name file etag text config:{the file's JSON}? error:{code,message}?
//                 slots:[{name,state:"filled"|"invalid",reason?}]
//                   by `file` one that is invalid can be opened too: name is "", error says why, config is there when
//                   the text is JSON. Like a put that needs an administrator: what is wrong may be a key in it.
//   provider.key.set    {name, slot="default", value} -> name slot declared:false?   no provider has that name (yet)
//   provider.key.remove {name, slot="default"}        -> name slot      ENOENT when there is none
//   provider.put    {name | file, etag, config:{the file's JSON} | text} -> name file etag
//                   writes providers.d/<file>, refreshes. With etag "" a new file, <name in the config>.json unless `file`
//                   says otherwise: EEXIST when there is one, or when another file has that name.
//                   Key order and unknown keys are kept as given, text byte for byte; EINVAL with JSON pointers.
//   provider.remove {name | file, etag} -> name file   deletes the file; keys stay (provider.key.remove)
//   provider.preset.list -> presets:[{name,aliases:[...],state:"absent"|"installed"|"changed",config:{...}}]
//   provider.preset.install {name, force:BOOL?} -> name file action:"installed"|"unchanged"|"replaced"
//                   EEXIST: a changed file is there and force is not set
//   provider.models.refresh {name, save:BOOL?} -> name models:[{id,new:BOOL,limit:N?}] added:N removed:[id...] saved:BOOL
//                   asks the provider's own list over the real route; save adds what is new to `models` of the file, and
//                   the limits that the provider documents for it to `model_limits`
//   limits.refresh -> models:N url etag?            replaces the limits cache, refreshes; a failure keeps the old cache
//   route.get     -> text etag exists:BOOL          EMSGSIZE when it does not fit into a frame (read model/route then)
//   route.put     {text, etag} -> etag              EINVAL with "line N, column M"; "" as text removes the file
//   route.check   {text?} -> ok:BOOL rules:N groups:N error:{code,message,line,column}? warnings:[{line,message}]
//                   without text the stored table
//   route.explain {model:"P/M", pname?, ip?} -> model line rule group transport base_url socket? slot
//                   key:"filled"|"missing"|"none" warnings:[TEXT]      no network call: without ip, a dip rule on a host
//                   that is no address does not match and is named in warnings
//   provider.test {name, model?} -> model ok:BOOL transport slot rule status:N first_token_ms total_ms
//                                   error:{code,message}?  (a failed test is a result, not an error)
//   session.list {object:"model/P/M", shared:SPACE?, uid?, limit=50, after?:SESSION} ->
//                   sessions:[{session,state,created_at,updated_at,cwd}]   newest use first; of the caller, or of `uid`
//                   when root asks
//                   more:BOOL    true: ask again with `after` = the last name; a page has at most a thousand
//   session.show {object, session="default", shared?, uid?, what:"messages"|"events"|"output", limit?}
//                   Stream of {"id":ID,"type":"line","line":{...}}, oldest first, the newest `limit` of them; then
//                   {"id":ID,"type":"result","lines":N}. For output no stream, result with text:TEXT (of latest.md).
//                   ENOENT: no such session.
//   metrics     -> runs_total runs_live exec_total fuse_requests uptime_ms
#pragma once

namespace cortexfs::control {

inline constexpr char kProtocol[] = "cortexfs.control/v1";
inline constexpr char kGroup[] = "cortexfs";

} // namespace cortexfs::control
