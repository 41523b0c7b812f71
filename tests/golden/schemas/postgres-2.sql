-- nod_aw0nyj1sd6h1xxa6wcr5rmvpprs7kkg1w3sh312gra3mqnn3c66r
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
);
CREATE TABLE public.gone (
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7htng2das3k70s3apv8z2', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7htng2das3k70s3apv8z2', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7htng2das3k70s3apv8z2', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7htng2das3k70s3apv8z2', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7h7htqv69zbz24ys559pyw5', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7h7htqv69zbz24ys559pyw5', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7htng2das3k70s3apv8z2', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7h7htng2das3k70s3apv8z2', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7h7htng2das3k70s3apv8z2', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\x4ac283a0f97a804a65e951e76e98ec353706a114cf2ff98701684ea84c838f3c', 0);
INSERT INTO public.chains VALUES ('ses_01m7h7htqv69zbz24ys559pyw5', 5, 12, 5, '\x7f025f97a646803cd3e0d768e25e791efda5f53b60c6a0f96ab3eb61a54b8015', 0);
INSERT INTO public.chains VALUES ('ses_01m7h7htng2das3k70s3apv8z2', 4, 15, 4, '\xa2789ea89ae38348fadb652a98ced0bc5077465117efc1e3fca4dfe2de8149b6', 0);
INSERT INTO public.events VALUES (1, 1, NULL, 1794800937484, 14, '', '', 'nod', NULL, '\x8e69a7154311a89ceb13594c0dcd98c49f00b4a1cce6f6915af1de83bf06f925', '{"change":"created","id":"tok_01m7h7htgbzrnq5qewbjc5c0tm","name":"admin","role":"admin","hash":"d75e913b880a370a6779338b44a422d8f04c3b80b820a048f644048693c3062e"}');
INSERT INTO public.events VALUES (2, 1, NULL, 1794800937611, 14, '', '', 'admin', NULL, '\xc1b690a58c2e55d79fd12ba679157f30e988bea64e285c15f43db4454c526e10', '{"change":"created","id":"tok_01m7h7htmb7mh3np4kf5gz39a7","name":"agent","role":"agent","hash":"522b51dd8c128c3551fb33e64a6b0824921742a56d5f1324d7f6ab95cd081824"}');
INSERT INTO public.events VALUES (3, 1, NULL, 1794800937623, 14, '', '', 'admin', NULL, '\xd792efc907dc69c96fb65b0a8fe0d10046c3b9bd6408c0c7d58cef95b9a9bc83', '{"change":"created","id":"tok_01m7h7htmqs1gbwrg3jh65qqy6","name":"gone","role":"viewer","hash":"5a9586f7e802a298438595ce429f004da061b85672d1033225ab6e2974262f87"}');
INSERT INTO public.events VALUES (4, 4, NULL, 1794800937648, 13, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'agent', NULL, '\x002170ddfcd3f3e4ff82a8142b438c573c0c6ebe814324610ba86decf82a13d0', '{"change":"created","threadId":"ses_01m7h7htng2das3k70s3apv8z2.main","title":"first","cwd":"/p","approvalTimeoutSeconds":0,"owner":"tok_01m7h7htmb7mh3np4kf5gz39a7"}');
INSERT INTO public.events VALUES (5, 5, NULL, 1794800937723, 13, 'ses_01m7h7htqv69zbz24ys559pyw5', 'ses_01m7h7htqv69zbz24ys559pyw5.main', 'agent', NULL, '\x50f88caaf9b87d80084ffd5331727198f0562dd713ef886302c99be9c0a7eeda', '{"change":"created","threadId":"ses_01m7h7htqv69zbz24ys559pyw5.main","title":"second","approvalTimeoutSeconds":0,"owner":"tok_01m7h7htmb7mh3np4kf5gz39a7"}');
INSERT INTO public.events VALUES (6, 1, NULL, 1794800937754, 14, '', '', 'admin', NULL, '\x4ac283a0f97a804a65e951e76e98ec353706a114cf2ff98701684ea84c838f3c', '{"change":"revoked","id":"tok_01m7h7htmqs1gbwrg3jh65qqy6"}');
INSERT INTO public.events VALUES (7, 4, NULL, 1794800937788, 3, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'agent', 'toolu_done', '\x42d6e3c58040d5cee3ad8e8adea6617d5fdeaa8d5fbb9a5678db7eb886688e90', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"it runs a command, and no rule allows it"}}');
INSERT INTO public.events VALUES (8, 4, 7, 1794800937788, 4, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'agent', 'toolu_done', '\x35d59a2f103660201eb8264d97a01a83e5fa0bdd9cb9a653a4c3529606e173d1', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"it runs a command, and no rule allows it"},"digest":"1de6d56f5acdd4cd1211041adf484c5b14b29bd0bc816875fce4a899193f44d5"}');
INSERT INTO public.events VALUES (9, 4, NULL, 1794800937915, 3, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'agent', 'toolu_denied', '\x4c3ae09b1b15bb113a3f364c1605a8fa8d8a66107e0a37ce2eea5f08ac740276', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"it runs a command, and no rule allows it"}}');
INSERT INTO public.events VALUES (10, 4, 9, 1794800937915, 4, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'agent', 'toolu_denied', '\x3d91be1beb5846bb7afc0a350105cd94c09bd984dea53b9b4067be391dd6dbf8', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"it runs a command, and no rule allows it"},"digest":"4fe68fa55f09c574147087f9f45799efa3b4073298a85bc9c683f4587c9718a6"}');
INSERT INTO public.events VALUES (11, 5, NULL, 1794800937954, 3, 'ses_01m7h7htqv69zbz24ys559pyw5', 'ses_01m7h7htqv69zbz24ys559pyw5.main', 'agent', 'toolu_waits', '\x2fa15e22b7f19aa91af74b29036c9239951af580b2129ca8d495afafce35e8d8', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"it runs a command, and no rule allows it"}}');
INSERT INTO public.events VALUES (12, 5, 11, 1794800937954, 4, 'ses_01m7h7htqv69zbz24ys559pyw5', 'ses_01m7h7htqv69zbz24ys559pyw5.main', 'agent', 'toolu_waits', '\x7f025f97a646803cd3e0d768e25e791efda5f53b60c6a0f96ab3eb61a54b8015', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"it runs a command, and no rule allows it"},"digest":"bf674344e4acfd93ee209631682bf604c6234e9bf888be2c92f7cb2372505403"}');
INSERT INTO public.events VALUES (13, 4, 7, 1794800937972, 5, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'admin', 'toolu_done', '\x21a95d846876ddac9be057c5aeadb5e3ac9cbe10e9f26bc2808a83a2e59a9bc9', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7h7htgbzrnq5qewbjc5c0tm"}');
INSERT INTO public.events VALUES (14, 4, 7, 1794800938072, 7, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'agent', 'toolu_done', '\x485d20c3ff84dbf43c7aecaae68efb196d019ef2efbd04eac57008f781506cb5', '{"toolCallId":"toolu_done","content":"42","isError":false}');
INSERT INTO public.events VALUES (15, 4, 9, 1794800938101, 5, 'ses_01m7h7htng2das3k70s3apv8z2', 'ses_01m7h7htng2das3k70s3apv8z2.main', 'admin', 'toolu_denied', '\xa2789ea89ae38348fadb652a98ced0bc5077465117efc1e3fca4dfe2de8149b6', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7h7htgbzrnq5qewbjc5c0tm"}');
INSERT INTO public.meta VALUES ('schema_version', 2);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7h7htqv69zbz24ys559pyw5', 'ses_01m7h7htqv69zbz24ys559pyw5.main', 'toolu_waits');
INSERT INTO public.writers VALUES ('w_01m7h7hsadq00qtas35gv6fchm', 12, 15, '2026-11-16 03:48:58.104632+00');
ALTER TABLE ONLY public.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (call_id, session_id, kind);
ALTER TABLE ONLY public.chains
    ADD CONSTRAINT chains_pkey PRIMARY KEY (session_id);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY public.gone
    ADD CONSTRAINT gone_pkey PRIMARY KEY (first_seq);
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
