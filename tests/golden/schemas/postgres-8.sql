-- nod_sd971wgr71tgwp5qjyc4c2jc5tt09d96x9scmh2kxavngafpaqeb
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
CREATE PROCEDURE public.keep(IN e_seq bigint[], IN e_session text[], IN e_thread text[], IN e_kind integer[], IN e_at bigint[], IN e_actor text[], IN e_call text[], IN e_data text[], IN e_no bigint[], IN e_hash bytea[], IN e_chain bigint[], IN e_call_seq bigint[], IN h_session text[], IN h_first bigint[], IN h_last bigint[], IN h_changed bigint[], IN h_hash bytea[], IN h_no bigint[], IN o_seq bigint[], IN o_call_seq bigint[], IN o_session text[], IN o_thread text[], IN o_call text[], IN o_deadline bigint[], IN answered bigint[], IN seen_session text[], IN seen_hash bytea[], IN new_call text[], IN new_session text[], IN known_seq bigint, IN known_hash bytea, IN part_end bigint, IN version bigint, IN channel text, IN node text, IN lent bigint, IN told text, INOUT last bigint)
    LANGUAGE plpgsql
    AS $$
DECLARE link bytea := known_hash;
BEGIN
  IF lent = 1 THEN PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('lock_timeout', '2s', true), set_config('default_transaction_isolation', 'read committed', true), set_config('default_transaction_read_only', 'off', true), set_config('idle_in_transaction_session_timeout', '5s', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true); END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'default_transaction_isolation must be read committed';
  END IF;
  PERFORM pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int);
  last := put(e_seq, e_session, e_thread, e_kind, e_at, e_actor, e_call, e_data, e_no, e_hash, e_chain, e_call_seq, h_session, h_first, h_last, h_changed, h_hash, h_no, o_seq, o_call_seq, o_session, o_thread, o_call, o_deadline, answered, seen_session, seen_hash, new_call, new_session, known_seq, known_hash, part_end, version, false);
  IF last < 0 THEN RETURN; END IF;
  IF told <> '' AND last <> known_seq THEN SELECT hash INTO link FROM events WHERE seq = last; END IF;
  PERFORM set_config('synchronous_commit', 'off', true);
  COMMIT;
  IF told <> '' AND octet_length(told) < current_setting('block_size')::int - 1000
    AND pg_notification_queue_usage() < 0.1 THEN
    told := concat_ws(' ', '', last, known_seq, encode(link, 'hex'), told);
  ELSE told := ''; END IF;
  PERFORM set_config('lock_timeout', '0', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true), pg_logical_emit_message(true, 'nod', ''),
    pg_notify(channel, node || ' ' || last + cardinality(e_seq) || told);
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7qtbbdkz555bz8ks2da26at', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7qtbbdkz555bz8ks2da26at', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\xb655e02dc05888e476168c1987f4a86d2305084a4038f6d4c557ec44f5fd3df6', 0, 4);
INSERT INTO public.chains VALUES ('ses_01m7qtbbdkz555bz8ks2da26at', 5, 12, 5, '\x9d37c61e0819e058b6983262c0ccb6bcd9522f7de17e3d2b001cc6fdf5ca10fc', 0, 3);
INSERT INTO public.chains VALUES ('ses_01m7qtbbdhnrzm2y7qxvv60gv5', 4, 15, 4, '\x9f2dd1963e5ab142c8d98d92cee21053a498b8cec29b0da1e3d07783d9b5162f', 0, 8);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1795021974948, 14, '', '', 'nod', NULL, '\xbad99e3c17f53fae18f692671fd69bde11b62bf8b79bf7fcf026c4eb1250a1e9', '{"change":"created","id":"tok_01m7qtbbd4jd1z70k7yze5zdcs","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"c593bc5b895662fc112352557cd80201032213c17d9df645ca095d341d31f555"}', 1);
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1795021974957, 14, '', '', 'admin', NULL, '\x2c57cd61b4a966bcd4d2cfbdc1b7864a9ae346a646bcd12fda9f8494704f2a69', '{"change":"created","id":"tok_01m7qtbbdd5xbqahgd0yrymmnv","name":"agent","role":"agent","scopes":["see","ask"],"hash":"1a1724eed4dad172fb1d9eabe4202ffcf18429bce73242ca16b2d1f6b1ac0c30"}', 2);
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1795021974959, 14, '', '', 'admin', NULL, '\x7f5d0610ba8e84ddac253a51c6d40516c38f3bb5e06ad516e0eccb4bdf5b4e80', '{"change":"created","id":"tok_01m7qtbbdfkncndbvwq8vt78ty","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"eda90750d67bb6e850e240705bd4f83351343deb8980b47c39b5db3c15f57388"}', 3);
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1795021974961, 13, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'agent', NULL, '\x6ac9d3a148330a83c85b4494798458fb6344455b822abe20257b0dde9f36e37b', '{"change":"created","threadId":"ses_01m7qtbbdhnrzm2y7qxvv60gv5.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7qtbbdd5xbqahgd0yrymmnv"}', 1);
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1795021974963, 13, 'ses_01m7qtbbdkz555bz8ks2da26at', 'ses_01m7qtbbdkz555bz8ks2da26at.main', 'agent', NULL, '\xc5f4bc9587c965320ee9b012f7426d8a4f486c32c51c5d6964851d6f9964fe0f', '{"change":"created","threadId":"ses_01m7qtbbdkz555bz8ks2da26at.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7qtbbdd5xbqahgd0yrymmnv"}', 1);
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1795021974964, 14, '', '', 'admin', NULL, '\xb655e02dc05888e476168c1987f4a86d2305084a4038f6d4c557ec44f5fd3df6', '{"change":"revoked","id":"tok_01m7qtbbdfkncndbvwq8vt78ty"}', 4);
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1795021974965, 3, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'agent', 'toolu_done', '\x50546f2d8ebb13e5054cd0f3719e0adf92d9295c9de66ace8698c427d78732fc', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}', 2);
INSERT INTO public.events_1 VALUES (8, 4, 7, 1795021974965, 4, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'agent', 'toolu_done', '\xdabba774a984f9c89d6157ac8f06b775df56b3da5bfeac968bf51f50ecc01e85', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"1d51b22c63495901241ab927413968d4eac7a99bc864bc86f4b282416483e7f0","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1795021974967, 3, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'agent', 'toolu_denied', '\x707de743ca522169e4b50e59d1626bd05b84eef7ac6926035047db84dffcc121', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}', 4);
INSERT INTO public.events_1 VALUES (10, 4, 9, 1795021974967, 4, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'agent', 'toolu_denied', '\x11784627a92a3b9fb0dab81a878cf3d9f54fa3a402a5e99a0c5bd11e08851074', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"89d9847f9ef027ac9fb26720a4f839df6e57a8ff70d325d4faf30038c0a18b4f","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 5);
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1795021974968, 3, 'ses_01m7qtbbdkz555bz8ks2da26at', 'ses_01m7qtbbdkz555bz8ks2da26at.main', 'agent', 'toolu_waits', '\xeb7abe1eb5726f85d6ab8631d5a12f512c305b6fbff228f6ef85fe9f37351f06', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}', 2);
INSERT INTO public.events_1 VALUES (12, 5, 11, 1795021974968, 4, 'ses_01m7qtbbdkz555bz8ks2da26at', 'ses_01m7qtbbdkz555bz8ks2da26at.main', 'agent', 'toolu_waits', '\x9d37c61e0819e058b6983262c0ccb6bcd9522f7de17e3d2b001cc6fdf5ca10fc', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"54dc866e3dd9664aadd4f126cab07b095e3430a6477f3f466d543695fda4bfb4","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (13, 4, 7, 1795021974969, 5, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'admin', 'toolu_done', '\x21c36c09c08a2fec28ee5dea28d867ef372cbf9d51bcefb48859ff8d4afcf26a', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7qtbbd4jd1z70k7yze5zdcs"}', 6);
INSERT INTO public.events_1 VALUES (14, 4, 7, 1795021974970, 7, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'agent', 'toolu_done', '\x32aec5f5289cf3755bcec039ca33387c6e7a215d669d821c714783aa5b1df2ad', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-18T17:12:54.969Z","result":"approved","decision":"allow_once","by":"admin"}}', 7);
INSERT INTO public.events_1 VALUES (15, 4, 9, 1795021974971, 5, 'ses_01m7qtbbdhnrzm2y7qxvv60gv5', 'ses_01m7qtbbdhnrzm2y7qxvv60gv5.main', 'admin', 'toolu_denied', '\x9f2dd1963e5ab142c8d98d92cee21053a498b8cec29b0da1e3d07783d9b5162f', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7qtbbd4jd1z70k7yze5zdcs"}', 8);
INSERT INTO public.groups VALUES (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO public.groups VALUES (1, '\x4736cdc6507729c71df41d18869dd571993b88c34ae88c57bd0d6d74a791e1a7');
INSERT INTO public.groups VALUES (2, '\xf42dccc95efe35a4e382160c114df1641ee7e5868cb29c29918b9a64d03c6e24');
INSERT INTO public.groups VALUES (3, '\xf14e570d5a03c19b4b639615ce23cee7d928ca76b82f7bce0b30160defa74956');
INSERT INTO public.groups VALUES (4, '\x6f73bf1ceb9f0d35b4dc27e88481737b3722cda7308f086cddc6d97e51f91fe4');
INSERT INTO public.groups VALUES (5, '\x273a2a4eb3f86f3dfb0bde190e6b606db397a5bd1712b0fcc448bd45e14c2f1b');
INSERT INTO public.groups VALUES (6, '\x5b5fc418980d6e43af85d6a120055733dbe95ef241854e0c0bd3044c9c687be8');
INSERT INTO public.groups VALUES (8, '\x0b4f3386ab6af868ff06934ac399adec461a376f54297dbb2cca507564565d1d');
INSERT INTO public.groups VALUES (10, '\x500188d93cd671454bbb22ea92cfd987646ae1251bbd9e599ecdc5310485d937');
INSERT INTO public.groups VALUES (12, '\x00d82fd4b63357a17f4b5dbe23ef46c9c73c531ac62feee6400af890012dfa3e');
INSERT INTO public.groups VALUES (13, '\x8e477410fa4157e6ea632850c3ea6fe1b20b1308aa723c3599ec46d9b8ff0b48');
INSERT INTO public.groups VALUES (14, '\xa123e26698234a3ef74c8d2ef44e1828d08a794ac4663e60739bbc3c76280c1e');
INSERT INTO public.groups VALUES (15, '\xd34ca4381acfd866f973b16c74552978ad1b1eab810a6203874198d13f2efbb3');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('channel', -8353293770459189438);
INSERT INTO public.meta VALUES ('schema_version', 8);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7qtbbdkz555bz8ks2da26at', 'ses_01m7qtbbdkz555bz8ks2da26at.main', 'toolu_waits');
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
