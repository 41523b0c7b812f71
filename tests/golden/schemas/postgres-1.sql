-- nod_zmjce4ee3n25qpf1s5zzwhabesq085te5atq4wqnf23gdtc2kxyg
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
    hash bytea NOT NULL
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
    data text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.meta (
    name text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.open_approvals (
    request_seq bigint NOT NULL,
    call_seq bigint NOT NULL,
    deadline_ms bigint NOT NULL,
    session_id text NOT NULL COLLATE pg_catalog."C",
    thread_id text NOT NULL COLLATE pg_catalog."C",
    call_id text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_threshold='1000', autovacuum_vacuum_scale_factor='0');
CREATE TABLE public.writers (
    id text NOT NULL COLLATE pg_catalog."C",
    group_no bigint NOT NULL,
    last_seq bigint NOT NULL,
    at timestamp with time zone NOT NULL
)
WITH (fillfactor='20');
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7hmxbxseafr6jn3vdwksr', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7hmxbxseafr6jn3vdwksr', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7hmxbxseafr6jn3vdwksr', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7hmxbxseafr6jn3vdwksr', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7h7hmy8zd1ervhp8c79vbdr', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7h7hmy8zd1ervhp8c79vbdr', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7hmxbxseafr6jn3vdwksr', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7hmxbxseafr6jn3vdwksr', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7hmxbxseafr6jn3vdwksr', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\x31119d45aaf996351331231d6be459c2dda21e30750d13a231f4037d601ae391');
INSERT INTO public.chains VALUES ('ses_01m7h7hmy8zd1ervhp8c79vbdr', 5, 12, 5, '\x789c9399bcf1079028787a17091f80439b2be5da1941112e568b076e20d758f9');
INSERT INTO public.chains VALUES ('ses_01m7h7hmxbxseafr6jn3vdwksr', 4, 15, 4, '\x6258a695412cb9eaedaa60e9ecb02821f00e0125a9e5801fbdd3b33fda229583');
INSERT INTO public.events VALUES (1, 1, NULL, 1794800931557, 14, '', '', 'nod', NULL, '\x487942f320059ac308bceff82b0f36cd32b770c9c24d05ea30c43876c210e676', '{"change":"created","id":"tok_01m7h7hmq39djsf8dd5s40pzpr","name":"admin","role":"admin","hash":"0701d10e1debf066f31c4d0137b07f489ec26287ec3bbdd84038912a0665cbe4"}');
INSERT INTO public.events VALUES (2, 1, NULL, 1794800931731, 14, '', '', 'admin', NULL, '\x9d75cf3e4459e43fe1fa1814053e405388037fbdabed29752d4076a97825746d', '{"change":"created","id":"tok_01m7h7hmwkhm585snpjc0wwbh3","name":"agent","role":"agent","hash":"e7bd411db8af74e1ddb5c2f8fae89c1656a9c4a40434a0138a2ae5c373ba3526"}');
INSERT INTO public.events VALUES (3, 1, NULL, 1794800931739, 14, '', '', 'admin', NULL, '\xa2f6ea6b2d81d39cb5a5cb918b9a6e50d1ca3b9b4f4264fb380b81233f7fbde2', '{"change":"created","id":"tok_01m7h7hmwv9frhrk6ca8thpv5d","name":"gone","role":"viewer","hash":"bcc2be9dea671b0ab194e716f33c8fb104a958e72ca448b53bc4e8a84089f3e0"}');
INSERT INTO public.events VALUES (4, 4, NULL, 1794800931755, 13, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'agent', NULL, '\x977368ded6877c4923aee28a667098bd65b3aec9b8137ecd2c6071849ded0a3c', '{"change":"created","threadId":"ses_01m7h7hmxbxseafr6jn3vdwksr.main","title":"first","cwd":"/p","approvalTimeoutSeconds":0,"owner":"tok_01m7h7hmwkhm585snpjc0wwbh3"}');
INSERT INTO public.events VALUES (5, 5, NULL, 1794800931784, 13, 'ses_01m7h7hmy8zd1ervhp8c79vbdr', 'ses_01m7h7hmy8zd1ervhp8c79vbdr.main', 'agent', NULL, '\x82fbd4a79aae2db80492f52184c21a95f6b939c9b7bf835bdc362b390b5b4706', '{"change":"created","threadId":"ses_01m7h7hmy8zd1ervhp8c79vbdr.main","title":"second","approvalTimeoutSeconds":0,"owner":"tok_01m7h7hmwkhm585snpjc0wwbh3"}');
INSERT INTO public.events VALUES (6, 1, NULL, 1794800931793, 14, '', '', 'admin', NULL, '\x31119d45aaf996351331231d6be459c2dda21e30750d13a231f4037d601ae391', '{"change":"revoked","id":"tok_01m7h7hmwv9frhrk6ca8thpv5d"}');
INSERT INTO public.events VALUES (7, 4, NULL, 1794800931795, 3, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'agent', 'toolu_done', '\xa151ac13c1715f77573bee6da84e0fdd199f5fad0173e33fa3d1a5d3ca9710a2', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"it runs a command, and no rule allows it"}}');
INSERT INTO public.events VALUES (8, 4, 7, 1794800931795, 4, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'agent', 'toolu_done', '\x0a8443c3ca3992f3135d300cdc6013b20cebb0034181abbe767eb8d468f604a3', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"it runs a command, and no rule allows it"},"digest":"b08e7a63ae279ec95b3104f1a01394cafb9eab0d909a21d26a6a383177c3bce2"}');
INSERT INTO public.events VALUES (9, 4, NULL, 1794800931806, 3, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'agent', 'toolu_denied', '\xc53f944b8bd649f432de1f5cd43d90a3ca1711531163aeaa98e4b4ad36dbb676', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"it runs a command, and no rule allows it"}}');
INSERT INTO public.events VALUES (10, 4, 9, 1794800931806, 4, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'agent', 'toolu_denied', '\x9a479836a9a992537c709189b5c8c2e8f4d9cdfd748e236c93aaab9f738bf225', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"it runs a command, and no rule allows it"},"digest":"2d23b0d339f570d4b2101ee625139c387a833416444f39ad5c8a666ba74906ae"}');
INSERT INTO public.events VALUES (11, 5, NULL, 1794800931819, 3, 'ses_01m7h7hmy8zd1ervhp8c79vbdr', 'ses_01m7h7hmy8zd1ervhp8c79vbdr.main', 'agent', 'toolu_waits', '\x521adf98d0100cb70ab314cc4dbce2f0836370255a5834491e07cec8bf26962b', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"it runs a command, and no rule allows it"}}');
INSERT INTO public.events VALUES (12, 5, 11, 1794800931819, 4, 'ses_01m7h7hmy8zd1ervhp8c79vbdr', 'ses_01m7h7hmy8zd1ervhp8c79vbdr.main', 'agent', 'toolu_waits', '\x789c9399bcf1079028787a17091f80439b2be5da1941112e568b076e20d758f9', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"it runs a command, and no rule allows it"},"digest":"4be8a96ff99e5f2bfb57b2a3087ed3f4c81551bd56e7ae0dbaa4f5dbc2db28ee"}');
INSERT INTO public.events VALUES (13, 4, 7, 1794800931823, 5, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'admin', 'toolu_done', '\x1552ff2a5bcaa02443676a2bf9d1ada2b7db893ba9c7f9d190c0d855e93374a3', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7h7hmq39djsf8dd5s40pzpr"}');
INSERT INTO public.events VALUES (14, 4, 7, 1794800931829, 7, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'agent', 'toolu_done', '\x076a96f6f2d192a65e1290c8186a697fa81b039655514d13ecf9decfcddc0310', '{"toolCallId":"toolu_done","content":"42","isError":false}');
INSERT INTO public.events VALUES (15, 4, 9, 1794800931851, 5, 'ses_01m7h7hmxbxseafr6jn3vdwksr', 'ses_01m7h7hmxbxseafr6jn3vdwksr.main', 'admin', 'toolu_denied', '\x6258a695412cb9eaedaa60e9ecb02821f00e0125a9e5801fbdd3b33fda229583', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7h7hmq39djsf8dd5s40pzpr"}');
INSERT INTO public.meta VALUES ('schema_version', 1);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7h7hmy8zd1ervhp8c79vbdr', 'ses_01m7h7hmy8zd1ervhp8c79vbdr.main', 'toolu_waits');
INSERT INTO public.writers VALUES ('w_01m7h7hktsp7bsdphrchmxy5d1', 12, 15, '2026-11-16 03:48:51.851252+00');
ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (call_id, session_id, kind);
ALTER TABLE ONLY public.chains
    ADD CONSTRAINT chains_pkey PRIMARY KEY (session_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.meta
    ADD CONSTRAINT meta_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.open_approvals
    ADD CONSTRAINT open_approvals_pkey PRIMARY KEY (request_seq);
ALTER TABLE ONLY public.writers
    ADD CONSTRAINT writers_pkey PRIMARY KEY (id);
CREATE INDEX events_by_chain ON public.events USING btree (chain, seq);
CREATE INDEX rule_changes ON public.events USING btree (seq) WHERE (kind = 15);
CREATE INDEX runs ON public.events USING btree (chain, thread_id, seq) WHERE (kind = 12);
CREATE INDEX session_changes ON public.events USING btree (chain, seq) WHERE (kind = 13);
CREATE INDEX token_changes ON public.events USING btree (seq) WHERE (kind = 14);
