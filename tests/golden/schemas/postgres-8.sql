-- nod_8jc8vqyex992z9t408g5de5r5g3b2yc15jxtre711kjtgngssm6m
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7k007vnarf5qpswsspyd93s', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7k007vnarf5qpswsspyd93s', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7k007vnarf5qpswsspyd93s', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7k007vnarf5qpswsspyd93s', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7k007vz4p0xdr1wardq4txb', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7k007vz4p0xdr1wardq4txb', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7k007vnarf5qpswsspyd93s', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7k007vnarf5qpswsspyd93s', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7k007vnarf5qpswsspyd93s', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\xcdab96fa302e0bcfbf724b0beafb6f03a92eaf785a0a26811e4df80b24b7b2f6', 0, 4);
INSERT INTO public.chains VALUES ('ses_01m7k007vz4p0xdr1wardq4txb', 5, 12, 5, '\xd936b58e16dcaa6b0bb309e2bdc13caae640e23f9b1a77791a9278d2520703f9', 0, 3);
INSERT INTO public.chains VALUES ('ses_01m7k007vnarf5qpswsspyd93s', 4, 15, 4, '\xdb7f75a5432773cc4b2cc961dddb6156e3ed9229f2a69621c0eea55092e09c30', 0, 8);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1794860130072, 14, '', '', 'nod', NULL, '\xceedc04ad1e1db0deeb1d0d5295f94aba3535778188df1b3d8a6a0b90b4699a7', '{"change":"created","id":"tok_01m7k007rr6adyx0rwj316awak","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"098d646dc54ce390a832d4120fb152f3e9d171df7645d21835a243502960be43"}', 1);
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1794860130134, 14, '', '', 'admin', NULL, '\x7427db1c2fd6d84cefd291a0474268ea3c79ecc7457044b494abb20f7f29d2fc', '{"change":"created","id":"tok_01m7k007tp1e581z82rcx35a5s","name":"agent","role":"agent","scopes":["see","ask"],"hash":"0c7157bc7e9c47d5f1628c7fa13c9fcadbc8400f2af44712f94f395286fdf9bb"}', 2);
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1794860130155, 14, '', '', 'admin', NULL, '\x2197f844ff5b3b1d510bc66b2bc7e50b403a4b0cdf98dfe2caaff8916b87819e', '{"change":"created","id":"tok_01m7k007vbvft2jbf82tp1vaa6","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"f704335d79e6f89567b5a965cc4634a0c3ccc9d67e2330d809e1fd46dbd2a5ab"}', 3);
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1794860130165, 13, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'agent', NULL, '\xabc7056c5656f8fd5164518e704dd3499f916e022aad26745d02885e40f79b15', '{"change":"created","threadId":"ses_01m7k007vnarf5qpswsspyd93s.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7k007tp1e581z82rcx35a5s"}', 1);
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1794860130175, 13, 'ses_01m7k007vz4p0xdr1wardq4txb', 'ses_01m7k007vz4p0xdr1wardq4txb.main', 'agent', NULL, '\x37df6f0232d5475ff2db5965edd2d3c889f0fc78c9e72676ab0c0970eb463343', '{"change":"created","threadId":"ses_01m7k007vz4p0xdr1wardq4txb.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7k007tp1e581z82rcx35a5s"}', 1);
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1794860130193, 14, '', '', 'admin', NULL, '\xcdab96fa302e0bcfbf724b0beafb6f03a92eaf785a0a26811e4df80b24b7b2f6', '{"change":"revoked","id":"tok_01m7k007vbvft2jbf82tp1vaa6"}', 4);
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1794860130203, 3, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'agent', 'toolu_done', '\x911b7e63cd6acdcbc5938e458a6f4aa95d916f98742442e66463340ac9fcbe76', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}', 2);
INSERT INTO public.events_1 VALUES (8, 4, 7, 1794860130203, 4, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'agent', 'toolu_done', '\xfe9d06338859172ebaed0701f25a7c902b3b8421e044093b3b4adff7a1ef8060', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"f33de694fd5828f500a48af85d0639ead65dfcd6e27f35a10700423e7564a93b","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1794860130211, 3, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'agent', 'toolu_denied', '\x9289ddfd26fc9d75611ac01303b9846e0ba0dab23dd8e1fe48f6bfe4e0d6bd67', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}', 4);
INSERT INTO public.events_1 VALUES (10, 4, 9, 1794860130211, 4, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'agent', 'toolu_denied', '\x9a7a6ce2a43a967d8966b522b62389b99164c7921ef2d651d3df96945dca3324', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"f330f11f919626c63884e90be631ca9456a67db7806dacf1690b3cb81fd59f93","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 5);
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1794860130215, 3, 'ses_01m7k007vz4p0xdr1wardq4txb', 'ses_01m7k007vz4p0xdr1wardq4txb.main', 'agent', 'toolu_waits', '\x3fb120973ef950f96a2e675cb256460548e6dadfbd4798e539496e27b114268f', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}', 2);
INSERT INTO public.events_1 VALUES (12, 5, 11, 1794860130215, 4, 'ses_01m7k007vz4p0xdr1wardq4txb', 'ses_01m7k007vz4p0xdr1wardq4txb.main', 'agent', 'toolu_waits', '\xd936b58e16dcaa6b0bb309e2bdc13caae640e23f9b1a77791a9278d2520703f9', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"b1ca7222479c3ad2c346bd75676d5e9760f2d310b2c03c2e8cd6d6d7433f5beb","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (13, 4, 7, 1794860130221, 5, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'admin', 'toolu_done', '\x2449fb044e259a68d804b9b5a2487dfce42a64b3e2b88f3c2ec659bd05150157', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7k007rr6adyx0rwj316awak"}', 6);
INSERT INTO public.events_1 VALUES (14, 4, 7, 1794860130234, 7, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'agent', 'toolu_done', '\x958acc7df67d13978ae20a86c04d20d92b371c3034ff8837499b0c3f923fe690', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-16T20:15:30.221Z","result":"approved","decision":"allow_once","by":"admin"}}', 7);
INSERT INTO public.events_1 VALUES (15, 4, 9, 1794860130237, 5, 'ses_01m7k007vnarf5qpswsspyd93s', 'ses_01m7k007vnarf5qpswsspyd93s.main', 'admin', 'toolu_denied', '\xdb7f75a5432773cc4b2cc961dddb6156e3ed9229f2a69621c0eea55092e09c30', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7k007rr6adyx0rwj316awak"}', 8);
INSERT INTO public.groups VALUES (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO public.groups VALUES (1, '\xc77ccae1b07980c8bb2bca6df1542c616fdaac641743c8ce40ae917f0d5eeba8');
INSERT INTO public.groups VALUES (2, '\x61af0a96dce2d5b4193356e4435ccc050163d26db7c3a08a7a3adadca353644f');
INSERT INTO public.groups VALUES (3, '\x2d4f75c96ad7ccd2144601748320a805f5f24e2b9d387c709e670c7b6edfaa37');
INSERT INTO public.groups VALUES (4, '\x15ce6aa1cabf0a8fd4f19c0af10ef1038b93c53381e083ed3eaf443d2fa4c1bf');
INSERT INTO public.groups VALUES (5, '\x34e51fc8ae4c535c2380ceb78a32d273a1e80bdf35b52ffed6f5b383fab74b70');
INSERT INTO public.groups VALUES (6, '\x320696e54d081ccb9e024b8c0c32874c1a05a3c8a14c6e4dc797ad27f6d8765b');
INSERT INTO public.groups VALUES (8, '\x4afd46ce93eee7ff11d8b0f5b1db42b2132f29a94af5510421939db5dd75d6fd');
INSERT INTO public.groups VALUES (10, '\x14a2231de3ffcf5b2fc1719be0db47b78fa462fd52889429b086812dca22704a');
INSERT INTO public.groups VALUES (12, '\xe52f619a9f3265dd2414a33eb3f1ea5c7ae68174faefc1cfcaa4c81141aaa607');
INSERT INTO public.groups VALUES (13, '\x65d45c16f3a71cb0b368ebc26cdaf78de86aee04d4e0a36d9acff30e184fa220');
INSERT INTO public.groups VALUES (14, '\x652076ba4a523c2e7f60e343541772a43ad49bc0b4883d0b8f33f0bc383bb35c');
INSERT INTO public.groups VALUES (15, '\xbf686a94b7e5a0909880d1383e8ee6fe051da0b904fea2709511e80b2bb4618a');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('channel', 2810805490969521907);
INSERT INTO public.meta VALUES ('schema_version', 8);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7k007vz4p0xdr1wardq4txb', 'ses_01m7k007vz4p0xdr1wardq4txb.main', 'toolu_waits');
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
