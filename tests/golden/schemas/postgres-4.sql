-- nod_yvq2gh5m4q32c6e79htvz7vmge119mpyyffg35ex2gysz7q15byd
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
    archived_seq bigint DEFAULT 0 NOT NULL
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
    data text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.gone (
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7h7jqtgyrfmm8t1ajd456z0', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7h7jqtgyrfmm8t1ajd456z0', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\x28fd3ec1cdde0da10ff8c71479955eea7c579e061f4f608d311999cc6b352cea', 0);
INSERT INTO public.chains VALUES ('ses_01m7h7jqtgyrfmm8t1ajd456z0', 5, 12, 5, '\x1ca5a24f0164209b5d8a3f45f3a209406e65b09c4720e4e0dcb00557442d785b', 0);
INSERT INTO public.chains VALUES ('ses_01m7h7jqt0a7x8gxpg2g1pf15d', 4, 15, 4, '\xad2252f5e255aeea0c4621c4217013f3c70c9bd2d4ded0524378a603a3597cdc', 0);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1794800967361, 14, '', '', 'nod', NULL, '\x7ec5e076654d9c44114d5393bbdef325192817ba9582d8580a698c37303c78dc', '{"change":"created","id":"tok_01m7h7jqp1jzx5jcwxmta9tr38","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"d0f64ec72adf4915ba277ca5d44055cccdb6579e91c4c1d8166b0e60133889b5"}');
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1794800967456, 14, '', '', 'admin', NULL, '\xf180151879575a8ad6b07a92211f8ad26c6711bc2fbb0456f6b856ec55fb1906', '{"change":"created","id":"tok_01m7h7jqs0edmbcmd204p68hrr","name":"agent","role":"agent","scopes":["see","ask"],"hash":"61887fadb16bdcb1dc753c7c8e175c2ab36479a739762372bb1296f2a95c8720"}');
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1794800967469, 14, '', '', 'admin', NULL, '\xad329c3ccf206f69d7ab88754c390405406e665d035e73c1101ea9e212422184', '{"change":"created","id":"tok_01m7h7jqsdgwg46x1hd87njr86","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"fd75bcdc60193f21fa1ace30406c066eb247196b8554ed888215ed8076113e54"}');
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1794800967488, 13, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'agent', NULL, '\x9bc737fbb6acfdb55aa9a061e8a45b94dec883a25eb3fd8579e7ee2af57287df', '{"change":"created","threadId":"ses_01m7h7jqt0a7x8gxpg2g1pf15d.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7h7jqs0edmbcmd204p68hrr"}');
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1794800967504, 13, 'ses_01m7h7jqtgyrfmm8t1ajd456z0', 'ses_01m7h7jqtgyrfmm8t1ajd456z0.main', 'agent', NULL, '\x26f55acfec920661c58b3154a850d0979734a7a03385fe27478877f6abf3be11', '{"change":"created","threadId":"ses_01m7h7jqtgyrfmm8t1ajd456z0.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7h7jqs0edmbcmd204p68hrr"}');
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1794800967514, 14, '', '', 'admin', NULL, '\x28fd3ec1cdde0da10ff8c71479955eea7c579e061f4f608d311999cc6b352cea', '{"change":"revoked","id":"tok_01m7h7jqsdgwg46x1hd87njr86"}');
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1794800967516, 3, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'agent', 'toolu_done', '\xc974810764600a2aa556aa47a3ed4dfdec544327909c5611174c73dd88f666e7', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}');
INSERT INTO public.events_1 VALUES (8, 4, 7, 1794800967516, 4, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'agent', 'toolu_done', '\x804c088110d7df61e2c38b8be387f5a4e142b88eb01c9d242d737606b963adf8', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"d8cbb4bd15b41882e91fc28aa791d8225574219a6dba9d47ae54dccffd691d06","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","is not understood: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}');
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1794800967533, 3, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'agent', 'toolu_denied', '\xef735fcf632ab1667d7216edd44a384c2646072a901bcf2474636ecf02a37dac', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}');
INSERT INTO public.events_1 VALUES (10, 4, 9, 1794800967533, 4, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'agent', 'toolu_denied', '\xdfe30e1fea63f913bca70fe4c59ddc787027898b73dcd882ab9161fb065b4687', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"fa188aac634805008cdbe63a3bcf32514a3aba3ca339475d017421c244bdbda7","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","is not understood: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}');
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1794800967559, 3, 'ses_01m7h7jqtgyrfmm8t1ajd456z0', 'ses_01m7h7jqtgyrfmm8t1ajd456z0.main', 'agent', 'toolu_waits', '\xbaaaefcc54e4bec4ffc19045c429ab261e0fcfcb1bd4b58f3471034d7f3e02ac', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}');
INSERT INTO public.events_1 VALUES (12, 5, 11, 1794800967559, 4, 'ses_01m7h7jqtgyrfmm8t1ajd456z0', 'ses_01m7h7jqtgyrfmm8t1ajd456z0.main', 'agent', 'toolu_waits', '\x1ca5a24f0164209b5d8a3f45f3a209406e65b09c4720e4e0dcb00557442d785b', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"f18ec7d6c99ffa6490f4c3abe443ed9076c6f5e378b4781834d580146f986b56","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","is not understood: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}');
INSERT INTO public.events_1 VALUES (13, 4, 7, 1794800967579, 5, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'admin', 'toolu_done', '\xee4b2d09c4e8598a3d8e17f332d0a87300d69a03e97504cf27a214c34d4a80da', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7h7jqp1jzx5jcwxmta9tr38"}');
INSERT INTO public.events_1 VALUES (14, 4, 7, 1794800967609, 7, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'agent', 'toolu_done', '\x3a7d34948e8e4689dcb8aa1165400293a5b5b151efa3317a15c8b99318ccb77e', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-16T03:49:27.579Z","result":"approved","decision":"allow_once","by":"admin"}}');
INSERT INTO public.events_1 VALUES (15, 4, 9, 1794800967645, 5, 'ses_01m7h7jqt0a7x8gxpg2g1pf15d', 'ses_01m7h7jqt0a7x8gxpg2g1pf15d.main', 'admin', 'toolu_denied', '\xad2252f5e255aeea0c4621c4217013f3c70c9bd2d4ded0524378a603a3597cdc', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7h7jqp1jzx5jcwxmta9tr38"}');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('schema_version', 4);
INSERT INTO public.nodes VALUES ('w_01m7h7jphdkks6fkqkwyxgbw99', 12, 15, '2026-11-16 03:49:27.645197+00');
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7h7jqtgyrfmm8t1ajd456z0', 'ses_01m7h7jqtgyrfmm8t1ajd456z0.main', 'toolu_waits');
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
