-- nod_jx1sz7dtxbevvmyxt5zh4p2yfvna39kx3ry7sk91ax4fhc8qt5g8
CREATE TABLE public.calls (
    call_id text NOT NULL COLLATE pg_catalog."C",
    session_id text NOT NULL COLLATE pg_catalog."C",
    kind integer NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE public.chains (
    session_id text NOT NULL COLLATE pg_catalog."C",
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL,
    changed_seq bigint NOT NULL,
    hash bytea NOT NULL,
    archived_seq bigint DEFAULT 0 NOT NULL,
    no bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.events (
    seq bigint NOT NULL,
    chain bigint NOT NULL,
    call_seq bigint,
    at_ms bigint NOT NULL,
    kind integer NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    thread_id text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    call_id text COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    data text NOT NULL COLLATE pg_catalog."C",
    no bigint
)
PARTITION BY RANGE (seq);
CREATE TABLE public.events_1 (
    seq bigint NOT NULL,
    chain bigint NOT NULL,
    call_seq bigint,
    at_ms bigint NOT NULL,
    kind integer NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    thread_id text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    call_id text COLLATE pg_catalog."C",
    hash bytea NOT NULL,
    data text NOT NULL COLLATE pg_catalog."C",
    no bigint
);
CREATE TABLE public.gone (
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL
);
CREATE TABLE public.groups (
    last_seq bigint NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE public.meta (
    name text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.nodes (
    id text NOT NULL COLLATE pg_catalog."C",
    group_no bigint NOT NULL,
    last_seq bigint NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (fillfactor='20');
CREATE TABLE public.open_approvals (
    request_seq bigint NOT NULL,
    call_seq bigint NOT NULL,
    deadline_ms bigint NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    thread_id text NOT NULL COLLATE pg_catalog."C",
    call_id text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0');
CREATE TABLE public.parts (
    name text NOT NULL COLLATE pg_catalog."C",
    first_seq bigint NOT NULL,
    end_seq bigint NOT NULL
);
ALTER TABLE ONLY public.events ATTACH PARTITION public.events_1 FOR VALUES FROM ('1') TO ('1048576');
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7hj5vbbp91yje13qqvdypwb', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7hj5vbbp91yje13qqvdypwb', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7hj5vbbp91yje13qqvdypwb', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7hj5vbbp91yje13qqvdypwb', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7hj5vbqsmvv4c7cmpbczc4e', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7hj5vbqsmvv4c7cmpbczc4e', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7hj5vbbp91yje13qqvdypwb', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7hj5vbbp91yje13qqvdypwb', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7hj5vbbp91yje13qqvdypwb', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\x595143d670c4c3ed3791b566ce41a9ee25fdc9607dd16cb8fafb86738a0fc2c7', 0, 4);
INSERT INTO public.chains VALUES ('ses_01m7hj5vbqsmvv4c7cmpbczc4e', 5, 12, 5, '\x37bc4e911facb985fb9559a15bacbfa80121cb4b7fa9421210d5fb615aec0689', 0, 3);
INSERT INTO public.chains VALUES ('ses_01m7hj5vbbp91yje13qqvdypwb', 4, 15, 4, '\x14a91cfb5db7c964a695cb72f18ad991da3d33db8db0bbd3a991ef5386d2c972', 0, 8);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1794812079376, 14, '', '', 'nod', NULL, '\xfbde3a6965e0ad99bce03e23ba3ddc2a4e790ed07371417005e6544552f67a73', '{"change":"created","id":"tok_01m7hj5v8gnvjjncnj063fr6p2","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"fccbf4b709c17651ea1c07c746711a3f3a65179fca4c12fca13346563d75e100"}', 1);
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1794812079436, 14, '', '', 'admin', NULL, '\x8471ecc86a3ca7fb2f479be98113323a83669b55b9710dc04c87c6403cbb6939', '{"change":"created","id":"tok_01m7hj5vac59600y3n3kwr7ker","name":"agent","role":"agent","scopes":["see","ask"],"hash":"ba686e763937e5a98fde598d3cf223553c107a32089610788c14764687402207"}', 2);
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1794812079452, 14, '', '', 'admin', NULL, '\x0076ca939d9481fb061e466c902cad82581a03bd5f0a496ca40e89d981745eaf', '{"change":"created","id":"tok_01m7hj5vaw7tzqymvbnhnv4c4f","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"b379f791782f309060d03500b381184aad22b13956e21312f04c1959d51ef6ff"}', 3);
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1794812079467, 13, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'agent', NULL, '\x5e680b3129ab94d8517c699ab6836f17155d91691c689cb653ecafc061aa6803', '{"change":"created","threadId":"ses_01m7hj5vbbp91yje13qqvdypwb.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7hj5vac59600y3n3kwr7ker"}', 1);
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1794812079479, 13, 'ses_01m7hj5vbqsmvv4c7cmpbczc4e', 'ses_01m7hj5vbqsmvv4c7cmpbczc4e.main', 'agent', NULL, '\xd8ad452aa9e3fb5c43e9251a14c140c313ecc029cd163e787d9b05232d20e972', '{"change":"created","threadId":"ses_01m7hj5vbqsmvv4c7cmpbczc4e.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7hj5vac59600y3n3kwr7ker"}', 1);
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1794812079494, 14, '', '', 'admin', NULL, '\x595143d670c4c3ed3791b566ce41a9ee25fdc9607dd16cb8fafb86738a0fc2c7', '{"change":"revoked","id":"tok_01m7hj5vaw7tzqymvbnhnv4c4f"}', 4);
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1794812079512, 3, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'agent', 'toolu_done', '\x75a30c9883f1c1287dfa0dfcfd6a9d77bdf37d9b31b5559b66b4469c299e7eef', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}', 2);
INSERT INTO public.events_1 VALUES (8, 4, 7, 1794812079512, 4, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'agent', 'toolu_done', '\xf34c9e8913c284e37e695f01d3081c772bbceb41c00fbda596bec7d7f41f7b84', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"556a3b730ed3a798fbe58080a2bf7297dc2e70e6742b1fd6e03a9fb1a7a0c7bd","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1794812079519, 3, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'agent', 'toolu_denied', '\xb262a5c317d07f189a89259917004378887daeeb469fbc2c55e8b4b14793be96', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}', 4);
INSERT INTO public.events_1 VALUES (10, 4, 9, 1794812079519, 4, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'agent', 'toolu_denied', '\xb0b3c067de6dfe0052baf35d47c73cb4a8f6cb0477e9d4575df463019853ac4f', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"13da7e67e7b4abbb6d28ed82b20a5c95fa47524fd5b1e6916466f0d3191bdbd1","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 5);
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1794812079531, 3, 'ses_01m7hj5vbqsmvv4c7cmpbczc4e', 'ses_01m7hj5vbqsmvv4c7cmpbczc4e.main', 'agent', 'toolu_waits', '\x152f8df5f81420deb8d59d5e23f4853e004302fced676c8fc076bbd16164ca85', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}', 2);
INSERT INTO public.events_1 VALUES (12, 5, 11, 1794812079531, 4, 'ses_01m7hj5vbqsmvv4c7cmpbczc4e', 'ses_01m7hj5vbqsmvv4c7cmpbczc4e.main', 'agent', 'toolu_waits', '\x37bc4e911facb985fb9559a15bacbfa80121cb4b7fa9421210d5fb615aec0689', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"f326022a9866564303351e3a130eee512639621120ffda22a6b3a99af53bd76b","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (13, 4, 7, 1794812079535, 5, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'admin', 'toolu_done', '\x9e9554279de16eb00e82ca764fb3ab8139551b8910ea79a64099d4a266b68386', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7hj5v8gnvjjncnj063fr6p2"}', 6);
INSERT INTO public.events_1 VALUES (14, 4, 7, 1794812079541, 7, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'agent', 'toolu_done', '\x15864928cb7cdc7a15d51dfdc91d4e2fc88d46ca1a7ecd3a1915dd28ff221de0', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-16T06:54:39.535Z","result":"approved","decision":"allow_once","by":"admin"}}', 7);
INSERT INTO public.events_1 VALUES (15, 4, 9, 1794812079551, 5, 'ses_01m7hj5vbbp91yje13qqvdypwb', 'ses_01m7hj5vbbp91yje13qqvdypwb.main', 'admin', 'toolu_denied', '\x14a91cfb5db7c964a695cb72f18ad991da3d33db8db0bbd3a991ef5386d2c972', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7hj5v8gnvjjncnj063fr6p2"}', 8);
INSERT INTO public.groups VALUES (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO public.groups VALUES (1, '\x2bb12606ef96c0f9fa8c8b5612bc1e61831c35a6883c75ea63b50464f1a3092b');
INSERT INTO public.groups VALUES (2, '\xfc66e72ac5cb4d1446f1167d188e91778856773420085703c2ab950024bf7b15');
INSERT INTO public.groups VALUES (3, '\x2b959fbd3dcc654e4204a965473568b7fafc5c75e4092f43af1cc97af24d0704');
INSERT INTO public.groups VALUES (4, '\x6ac45ee4574473f217ae67d54adf3d53b7f5da0a71890cb1a497efd5555809e6');
INSERT INTO public.groups VALUES (5, '\x70b073088bee8a2c3a1f9bdbf42b3ada56dfd116d223b8a1010f9d25cad6dbae');
INSERT INTO public.groups VALUES (6, '\xedf8e070e2393043260a62962a4679d3f9e23bef35a71fc7233560b0bdba76d5');
INSERT INTO public.groups VALUES (8, '\xca0dbcaea4de9f4cf86e7888729dae8a383693ff353976305d0064ada66c7a65');
INSERT INTO public.groups VALUES (10, '\x1d14ccb42dc5871a74aacf47f5c2af825b3f165a529a3413723b03ed16752b6d');
INSERT INTO public.groups VALUES (12, '\xc96345722f6ae677cd0da10891a8ba310aeee5fc24f924070419d2848f7844f5');
INSERT INTO public.groups VALUES (13, '\x2671aec0da3a22ad5129bb61092740d548579c9747ad453f2ca0920ab2251a38');
INSERT INTO public.groups VALUES (14, '\xb634bfb8ba70edd6385d3f4e0faa16f220ed50a21e7d880ed5c4ecdab0f6bf15');
INSERT INTO public.groups VALUES (15, '\xe6b48e8d7e74ac9528a824e6375fc0b911c6c598803de162ed643c70086a0050');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('schema_version', 5);
INSERT INTO public.nodes VALUES ('w_01m7hj5v01v3067p79sc69fs49', 12, 15, '2026-11-16 06:54:39.55137+00');
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7hj5vbqsmvv4c7cmpbczc4e', 'ses_01m7hj5vbqsmvv4c7cmpbczc4e.main', 'toolu_waits');
INSERT INTO public.parts VALUES ('events_1', 1, 1048576);
ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (call_id, session_id, kind);
ALTER TABLE ONLY public.chains
    ADD CONSTRAINT chains_pkey PRIMARY KEY (session_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.events_1
    ADD CONSTRAINT events_1_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.gone
    ADD CONSTRAINT gone_pkey PRIMARY KEY (first_seq);
ALTER TABLE ONLY public.groups
    ADD CONSTRAINT groups_pkey PRIMARY KEY (last_seq);
ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.nodes
    ADD CONSTRAINT nodes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.open_approvals
    ADD CONSTRAINT open_approvals_pkey PRIMARY KEY (request_seq);
ALTER TABLE ONLY public.parts
    ADD CONSTRAINT parts_pkey PRIMARY KEY (name);
CREATE INDEX events_by_chain ON ONLY public.events USING btree (chain, seq);
CREATE INDEX events_1_by_chain ON public.events_1 USING btree (chain, seq);
CREATE INDEX rule_changes ON ONLY public.events USING btree (seq) WHERE (kind = 15);
CREATE INDEX events_1_rule_changes ON public.events_1 USING btree (seq) WHERE (kind = 15);
CREATE INDEX runs ON ONLY public.events USING btree (chain, thread_id, seq) WHERE (kind = 12);
CREATE INDEX events_1_runs ON public.events_1 USING btree (chain, thread_id, seq) WHERE (kind = 12);
CREATE INDEX session_changes ON ONLY public.events USING btree (chain, seq) WHERE (kind = 13);
CREATE INDEX events_1_session_changes ON public.events_1 USING btree (chain, seq) WHERE (kind = 13);
CREATE INDEX token_changes ON ONLY public.events USING btree (seq) WHERE (kind = 14);
CREATE INDEX events_1_token_changes ON public.events_1 USING btree (seq) WHERE (kind = 14);
ALTER INDEX public.events_by_chain ATTACH PARTITION public.events_1_by_chain;
ALTER INDEX public.events_pkey ATTACH PARTITION public.events_1_pkey;
ALTER INDEX public.rule_changes ATTACH PARTITION public.events_1_rule_changes;
ALTER INDEX public.runs ATTACH PARTITION public.events_1_runs;
ALTER INDEX public.session_changes ATTACH PARTITION public.events_1_session_changes;
ALTER INDEX public.token_changes ATTACH PARTITION public.events_1_token_changes;
