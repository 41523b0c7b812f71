-- nod_t4kye9mf9h5r1x52d0fydvew8ecf6qdm4h3xhvtxvfk74fsgxbwz
CREATE PROCEDURE public.keep(IN e_seq bigint[], IN e_session text[], IN e_thread text[], IN e_kind integer[], IN e_at bigint[], IN e_actor text[], IN e_call text[], IN e_data text[], IN e_no bigint[], IN e_hash bytea[], IN e_chain bigint[], IN e_call_seq bigint[], IN h_session text[], IN h_first bigint[], IN h_last bigint[], IN h_changed bigint[], IN h_hash bytea[], IN h_no bigint[], IN o_seq bigint[], IN o_call_seq bigint[], IN o_session text[], IN o_thread text[], IN o_call text[], IN o_deadline bigint[], IN answered bigint[], IN seen_session text[], IN seen_hash bytea[], IN new_call text[], IN new_session text[], IN known_seq bigint, IN known_hash bytea, IN part_end bigint, IN version bigint, IN channel text, IN node text, IN lent bigint, INOUT last bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF lent = 1 THEN PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('lock_timeout', '2s', true), set_config('default_transaction_isolation', 'read committed', true), set_config('default_transaction_read_only', 'off', true), set_config('idle_in_transaction_session_timeout', '5s', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true); END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'default_transaction_isolation must be read committed';
  END IF;
  PERFORM pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int);
  last := put(e_seq, e_session, e_thread, e_kind, e_at, e_actor, e_call, e_data, e_no, e_hash, e_chain, e_call_seq, h_session, h_first, h_last, h_changed, h_hash, h_no, o_seq, o_call_seq, o_session, o_thread, o_call, o_deadline, answered, seen_session, seen_hash, new_call, new_session, known_seq, known_hash, part_end, version, false);
  IF last < 0 THEN RETURN; END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  COMMIT;
  PERFORM set_config('lock_timeout', '0', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true),
    pg_logical_emit_message(true, 'nod', ''), pg_notify(channel, node || ' ' || last + cardinality(e_seq));
END $$;
CREATE FUNCTION public.put(e_seq bigint[], e_session text[], e_thread text[], e_kind integer[], e_at bigint[], e_actor text[], e_call text[], e_data text[], e_no bigint[], e_hash bytea[], e_chain bigint[], e_call_seq bigint[], h_session text[], h_first bigint[], h_last bigint[], h_changed bigint[], h_hash bytea[], h_no bigint[], o_seq bigint[], o_call_seq bigint[], o_session text[], o_thread text[], o_call text[], o_deadline bigint[], answered bigint[], seen_session text[], seen_hash bytea[], new_call text[], new_session text[], known_seq bigint, known_hash bytea, part_end bigint, version bigint, must boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE last bigint; shift bigint; ends bigint;
BEGIN
  SELECT coalesce(max(seq), 0) INTO last FROM events;
  IF last + cardinality(e_seq) >= part_end
    OR version IS DISTINCT FROM (SELECT value FROM meta WHERE name = 'schema_version')
    OR known_hash <> coalesce((SELECT hash FROM events WHERE seq = known_seq), '')
    OR EXISTS (SELECT 1 FROM unnest(seen_session, seen_hash) s(session_id, hash)
      LEFT JOIN chains c USING (session_id) WHERE s.hash <> coalesce(c.hash, ''))
    OR EXISTS (SELECT 1 FROM unnest(new_call, new_session) n(call_id, session_id) JOIN calls USING (call_id, session_id))
  THEN
    IF must THEN
      RAISE EXCEPTION 'somebody wrote without the lock' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN -1;
  END IF;
  shift := last - known_seq;
  ends := last + cardinality(e_seq);
  WITH e AS MATERIALIZED (
      SELECT seq + shift AS seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash,
      CASE WHEN chain > known_seq THEN chain + shift ELSE chain END AS chain, CASE WHEN call_seq > known_seq THEN call_seq + shift ELSE call_seq END AS call_seq
      FROM unnest(e_seq, e_session, e_thread, e_kind, e_at, e_actor, e_call, e_data, e_no, e_hash,
        e_chain, e_call_seq)
      u(seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash, chain, call_seq)),
    adds AS (INSERT INTO events(seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash,
      chain, call_seq) SELECT * FROM e),
    marks AS (INSERT INTO calls(call_id, session_id, kind, seq)
      SELECT call_id, session_id, kind, seq FROM e WHERE call_id IS NOT NULL),
    heads AS (INSERT INTO chains(session_id, first_seq, last_seq, changed_seq, hash, no)
      SELECT session_id, CASE WHEN first_seq > known_seq THEN first_seq + shift ELSE first_seq END, last_seq + shift, CASE WHEN changed_seq > known_seq THEN changed_seq + shift ELSE changed_seq END, hash, no
      FROM unnest(h_session, h_first, h_last, h_changed, h_hash, h_no)
      u(session_id, first_seq, last_seq, changed_seq, hash, no)
      ON CONFLICT (session_id) DO UPDATE SET last_seq = EXCLUDED.last_seq,
      changed_seq = EXCLUDED.changed_seq, hash = EXCLUDED.hash, no = EXCLUDED.no),
    opens AS (INSERT INTO open_approvals(request_seq, call_seq, session_id, thread_id, call_id, deadline_ms)
      SELECT request_seq + shift, CASE WHEN call_seq > known_seq THEN call_seq + shift ELSE call_seq END, session_id, thread_id, call_id, deadline_ms
      FROM unnest(o_seq, o_call_seq, o_session, o_thread, o_call, o_deadline)
      u(request_seq, call_seq, session_id, thread_id, call_id, deadline_ms)),
    closes AS (DELETE FROM open_approvals WHERE request_seq = ANY(answered))
  INSERT INTO groups(last_seq, hash) SELECT ends, sha256((SELECT hash FROM groups WHERE last_seq = last) ||
    (SELECT string_agg(hash, ''::bytea ORDER BY seq) FROM e) || int8send(ends));
  RETURN last;
END $$;
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7jk5dst5yq4qkcfbw5nf7xs', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7jk5dst5yq4qkcfbw5nf7xs', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\x779108b0ebe18e5c3effec12a61cee3b9e08d11d5ba933a1637926be0295f9d3', 0, 4);
INSERT INTO public.chains VALUES ('ses_01m7jk5dst5yq4qkcfbw5nf7xs', 5, 12, 5, '\x88f3a9264831825c5c592c11254fee8cab546eedce719199f6f1eab7c2f9495c', 0, 3);
INSERT INTO public.chains VALUES ('ses_01m7jk5dscmw6mkj0zrsr24xrt', 4, 15, 4, '\x3495035d564b192a6cd0d488c0ed44ddde05f7d34b2a42c4c70e7ca09e4d45cb', 0, 8);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1794846668456, 14, '', '', 'nod', NULL, '\x95f69cd58340a66fe23c0dabf78e97bcf842b0c8d607c584319ca3fb5159a71d', '{"change":"created","id":"tok_01m7jk5dn8w1pgrhxf6afbn6b7","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"d50af943db10df6c2bba2b43ec5fb43ecece44c04ea65d485d9f768f459ca547"}', 1);
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1794846668560, 14, '', '', 'admin', NULL, '\x751f7509478a3411f92d2938a653ff85512125593a87ec4a285b110dbbbe17e8', '{"change":"created","id":"tok_01m7jk5drg85m8jraepf5nxf37","name":"agent","role":"agent","scopes":["see","ask"],"hash":"816efb4e452b2d0dce224038b9873dcba0feff5f00a7be3081b148fee4638598"}', 2);
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1794846668576, 14, '', '', 'admin', NULL, '\xe9d12b192eb7b866b9983567907cc875203f1e53ca5e08712414aab228488d85', '{"change":"created","id":"tok_01m7jk5ds0mgb4494wmfynx7ha","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"ebc7ea8bce9258fc01d2e36a13f3a2725e09c131fd2376c64b38ef1e06914220"}', 3);
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1794846668588, 13, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'agent', NULL, '\x08145cf5e64ac942ba3e7e1320918036b8615b2d71383e204721d8cfc87abae9', '{"change":"created","threadId":"ses_01m7jk5dscmw6mkj0zrsr24xrt.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7jk5drg85m8jraepf5nxf37"}', 1);
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1794846668602, 13, 'ses_01m7jk5dst5yq4qkcfbw5nf7xs', 'ses_01m7jk5dst5yq4qkcfbw5nf7xs.main', 'agent', NULL, '\x78876b4660ffc8328ced42804336506ae7bc28e8a15b0f1cea9291d4d74c3541', '{"change":"created","threadId":"ses_01m7jk5dst5yq4qkcfbw5nf7xs.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7jk5drg85m8jraepf5nxf37"}', 1);
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1794846668624, 14, '', '', 'admin', NULL, '\x779108b0ebe18e5c3effec12a61cee3b9e08d11d5ba933a1637926be0295f9d3', '{"change":"revoked","id":"tok_01m7jk5ds0mgb4494wmfynx7ha"}', 4);
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1794846668632, 3, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'agent', 'toolu_done', '\xe017db7aea9f3c1d839e544b59129522cf7b426e355fa8a942a34f961cc80e30', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}', 2);
INSERT INTO public.events_1 VALUES (8, 4, 7, 1794846668632, 4, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'agent', 'toolu_done', '\x4a476580921734e4bd27f686161ff519287fe45963695e712fea6aa6364d9ce5', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"e114fe27417cdd4920c94f641a62a105951372a395c9a3d42c01d93d943b4f62","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1794846668658, 3, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'agent', 'toolu_denied', '\x89ecd97467415042bafd612e1551d7177762c98e0b8a21cad9f21b36758365f7', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}', 4);
INSERT INTO public.events_1 VALUES (10, 4, 9, 1794846668658, 4, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'agent', 'toolu_denied', '\x6b871c09e61555eaee4085b81fd78f71aee6784bf167b375cad75160dab8e4ef', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"44dded1c600ac0bb129d2f7660dcaf6d993d63574c3f0d979179ad0bcbd3149c","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 5);
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1794846668672, 3, 'ses_01m7jk5dst5yq4qkcfbw5nf7xs', 'ses_01m7jk5dst5yq4qkcfbw5nf7xs.main', 'agent', 'toolu_waits', '\xee36cc1e97b8c21f3c758351e1a3cd853dc5bc9b0a2650ad1b50306998af98de', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}', 2);
INSERT INTO public.events_1 VALUES (12, 5, 11, 1794846668672, 4, 'ses_01m7jk5dst5yq4qkcfbw5nf7xs', 'ses_01m7jk5dst5yq4qkcfbw5nf7xs.main', 'agent', 'toolu_waits', '\x88f3a9264831825c5c592c11254fee8cab546eedce719199f6f1eab7c2f9495c', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"66c903b26193b19d533418bb93909b4a7a4cf1eb97f1a53f1620468ef5ceae70","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (13, 4, 7, 1794846668685, 5, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'admin', 'toolu_done', '\xcfde6e1e5822ce2648d3c20540ac4ec44d3d45e7792fc27ed57afe0a6166837b', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7jk5dn8w1pgrhxf6afbn6b7"}', 6);
INSERT INTO public.events_1 VALUES (14, 4, 7, 1794846668705, 7, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'agent', 'toolu_done', '\x0b811139d7c2ee036e27e746890dd63150ab056310ccd8cd31863b5ef979bb40', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-16T16:31:08.685Z","result":"approved","decision":"allow_once","by":"admin"}}', 7);
INSERT INTO public.events_1 VALUES (15, 4, 9, 1794846668719, 5, 'ses_01m7jk5dscmw6mkj0zrsr24xrt', 'ses_01m7jk5dscmw6mkj0zrsr24xrt.main', 'admin', 'toolu_denied', '\x3495035d564b192a6cd0d488c0ed44ddde05f7d34b2a42c4c70e7ca09e4d45cb', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7jk5dn8w1pgrhxf6afbn6b7"}', 8);
INSERT INTO public.groups VALUES (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO public.groups VALUES (1, '\x067562ac13400f113bdad78477e02d7f5d704ec6061e471a5db336cdc7958330');
INSERT INTO public.groups VALUES (2, '\x84e622e84be8416547fdbb8276d6673a43b60152a5b3ee7e7af0e9463decd16d');
INSERT INTO public.groups VALUES (3, '\xd4659c4352e301982ac590be198c5da52b6f93a15059f0753a05a8d55916d6b7');
INSERT INTO public.groups VALUES (4, '\xb89765acc3c0506f6f0676ba97252b6222b05ff284c024058f478ce593f581ee');
INSERT INTO public.groups VALUES (5, '\x298b4d812ad5053c43659811c884ce8a354bb623c2fde41c656f3fb4b55ead34');
INSERT INTO public.groups VALUES (6, '\x27cf561dacca705cecddaa52d971359824fd668427692bf86bf6abed1e3bc31a');
INSERT INTO public.groups VALUES (8, '\xdf3a40b7a6b9a0bd727e30a653c4b08c4ce9463963c15348ef8cd470b3e80910');
INSERT INTO public.groups VALUES (10, '\xa51281302ca54082c4182090eace6941a0b94a526ebbb20894c7c1d78ad8285b');
INSERT INTO public.groups VALUES (12, '\x09cc12cadced979e43f4316313ba447507ba6bca3cc395fe28cf20445d1b815e');
INSERT INTO public.groups VALUES (13, '\x63e3a93d31ea2f888d863cb6c401e48942f2b9abe372466e0f97adf1cc478116');
INSERT INTO public.groups VALUES (14, '\xe2f7e1b47c01a073aaba0523d39a378ee277bfc5dcab4a822db4c3ba4ee5ecfd');
INSERT INTO public.groups VALUES (15, '\xeb8a981acc3343be413932acf05f408522981077e2174d42154b2e7231ea95e2');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('schema_version', 6);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7jk5dst5yq4qkcfbw5nf7xs', 'ses_01m7jk5dst5yq4qkcfbw5nf7xs.main', 'toolu_waits');
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
