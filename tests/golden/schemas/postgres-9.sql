-- nod_ex3s4118ssb3w5b651yc5f5t0ctgek3kd6wekktvtvrsreb93rq8
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
CREATE PROCEDURE public.keep_one(IN e_session text, IN e_thread text, IN e_kind bigint, IN e_at bigint, IN e_actor text, IN e_call text, IN e_data text, IN e_no bigint, IN e_hash bytea, IN e_chain bigint, IN e_call_seq bigint, IN changed bigint, IN answered bigint, IN seen_hash bytea, IN also_session text, IN also_hash bytea, IN known_seq bigint, IN known_hash bytea, IN part_end bigint, IN version bigint, IN channel text, IN node text, IN lent bigint, IN told text, INOUT last bigint)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE before bytea; link bytea; also bytea; present bigint; ends bigint; done text;
BEGIN
  IF lent = 1 THEN PERFORM set_config('plan_cache_mode', 'force_generic_plan', true), set_config('jit', 'off', true), set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('lock_timeout', '2s', true), set_config('default_transaction_isolation', 'read committed', true), set_config('default_transaction_read_only', 'off', true), set_config('idle_in_transaction_session_timeout', '5s', true), set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true); END IF;
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'default_transaction_isolation must be read committed';
  END IF;
  PERFORM pg_advisory_xact_lock(1315922977, 'events'::regclass::oid::int);
  SELECT last_seq, hash INTO last, before FROM groups ORDER BY last_seq DESC LIMIT 1;
  SELECT value INTO present FROM meta WHERE name = 'schema_version';
  SELECT hash INTO link FROM events WHERE seq = known_seq;
  SELECT hash INTO also FROM chains WHERE session_id = also_session;
  ends := last + 1;
  IF ends >= part_end OR version IS DISTINCT FROM present OR known_hash IS DISTINCT FROM link
    OR also_hash IS DISTINCT FROM also THEN last := -1; RETURN; END IF;
  IF last <> known_seq THEN SELECT hash INTO link FROM events WHERE seq = last; END IF;
  UPDATE chains SET last_seq = ends, changed_seq = CASE WHEN changed > known_seq THEN ends ELSE changed END,
    hash = e_hash, no = e_no WHERE session_id = e_session AND hash = seen_hash;
  IF NOT FOUND OR link IS NULL THEN ROLLBACK; last := -1; RETURN; END IF;
  IF e_call <> '' THEN
    INSERT INTO calls(call_id, session_id, kind, seq) VALUES(e_call, e_session, e_kind, ends)
      ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN ROLLBACK; last := -1; RETURN; END IF;
  END IF;
  INSERT INTO events(seq, session_id, thread_id, kind, at_ms, actor, call_id, data, no, hash, chain, call_seq)
    VALUES(ends, e_session, e_thread, e_kind, e_at, e_actor, nullif(e_call, ''), e_data, e_no, e_hash, e_chain,
    nullif(e_call_seq, 0));
  IF answered > 0 THEN DELETE FROM open_approvals WHERE request_seq = answered; END IF;
  INSERT INTO groups(last_seq, hash) VALUES(ends, sha256(before || e_hash || int8send(ends)));
  done := set_config('synchronous_commit', 'off', true);
  COMMIT;
  IF lent = 1 THEN PERFORM set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit') END, true); END IF;
  IF told <> '' AND octet_length(told) < current_setting('block_size')::int - 1000
    AND pg_notification_queue_usage() < 0.1 THEN
    told := concat_ws(' ', '', last, known_seq, encode(link, 'hex'), told);
  ELSE told := ''; END IF;
  done := set_config('lock_timeout', '0', true);
  done := pg_logical_emit_message(true, 'nod', '');
  done := pg_notify(channel, node || ' ' || ends || told);
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7ra8t59ta4tjxvjdgve79yd', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7ra8t59ta4tjxvjdgve79yd', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7ra8t59ta4tjxvjdgve79yd', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7ra8t59ta4tjxvjdgve79yd', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7ra8t5d300zwkjr8hqxz36z', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7ra8t5d300zwkjr8hqxz36z', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7ra8t59ta4tjxvjdgve79yd', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7ra8t59ta4tjxvjdgve79yd', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7ra8t59ta4tjxvjdgve79yd', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\x7ae44bd5d0ab2a04730d82fd3bc421b3d4f93868b706ca7c51ce887a4c97d74c', 0, 4);
INSERT INTO public.chains VALUES ('ses_01m7ra8t5d300zwkjr8hqxz36z', 5, 12, 5, '\xfe8ce397e26851b9916a26bbacbc5d06c87eb65ffba16d543e7ac0ecc4f1719e', 0, 3);
INSERT INTO public.chains VALUES ('ses_01m7ra8t59ta4tjxvjdgve79yd', 4, 15, 4, '\x9e19070d9fe48aa7be012961a88061f81a1b5e296196a9492b8b5995215f9ba3', 0, 8);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1795038668906, 14, '', '', 'nod', NULL, '\x4ee67e9a30f883433fdd0582253b120efdfa9354e546de51bc275890a8016f1f', '{"change":"created","id":"tok_01m7ra8t3axmey0cap9aj3d1eq","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"027f331b1ad6390b7c3022aad6ef3b49243ae65815bd409b3ef5d0da484d4188"}', 1);
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1795038668942, 14, '', '', 'admin', NULL, '\x2e3ad5e7b45089722d813929bb592155ac1544eb28ac91322ae552c6596cbfa3', '{"change":"created","id":"tok_01m7ra8t4e6jp7mt7aqjx184ds","name":"agent","role":"agent","scopes":["see","ask"],"hash":"b5b100e278e6451223074a98a71e45c190cd3507e9787d0067e5099b38f1fef7"}', 2);
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1795038668957, 14, '', '', 'admin', NULL, '\x9a4c0a0f56fcdb421d580c86aee62d6492a60c945a60cfaa949d6e869c44ad82', '{"change":"created","id":"tok_01m7ra8t4xx5tswdgdjy6aq4eh","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"47a4772c1796b407555785d297f9917d252aa0c303e5b9815a4b9ad7a3b290f4"}', 3);
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1795038668969, 13, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'agent', NULL, '\x34b2ce69ceeb123f1169f281b58682fa4dead722f9e07a2653e441d81fef6a53', '{"change":"created","threadId":"ses_01m7ra8t59ta4tjxvjdgve79yd.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7ra8t4e6jp7mt7aqjx184ds"}', 1);
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1795038668973, 13, 'ses_01m7ra8t5d300zwkjr8hqxz36z', 'ses_01m7ra8t5d300zwkjr8hqxz36z.main', 'agent', NULL, '\xad571df6e41363b06430b963df38d69c55ce694b71e76cea2f7c851e5ac902ad', '{"change":"created","threadId":"ses_01m7ra8t5d300zwkjr8hqxz36z.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7ra8t4e6jp7mt7aqjx184ds"}', 1);
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1795038668998, 14, '', '', 'admin', NULL, '\x7ae44bd5d0ab2a04730d82fd3bc421b3d4f93868b706ca7c51ce887a4c97d74c', '{"change":"revoked","id":"tok_01m7ra8t4xx5tswdgdjy6aq4eh"}', 4);
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1795038669021, 3, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'agent', 'toolu_done', '\x2a1f9fa888643a3db13edc20bba78652c77912133482f6d3be0a1a8005a1bb01', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}', 2);
INSERT INTO public.events_1 VALUES (8, 4, 7, 1795038669021, 4, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'agent', 'toolu_done', '\xf758b0fe340d9b6add57d2f8ef1292bfd19c62accfff0b5cfc6af28c87ed9aa3', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"8597cbab822d71b034a5f200fd17ae8eb649d87a67bb6a0939a56f43039fca9b","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1795038669037, 3, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'agent', 'toolu_denied', '\xd4f40e7a97c6625dd2456c155b449de33222acd8e73336a3182e51c62d6bc532', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}', 4);
INSERT INTO public.events_1 VALUES (10, 4, 9, 1795038669037, 4, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'agent', 'toolu_denied', '\xfa13a95856053595a93096a9d9fcedcc2a70e505364aafaf003e19120375114e', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"4f14dbba3308f3796b8a9f95f4ab0892f55921ad20bf60737a70a94c6b4211cd","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 5);
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1795038669045, 3, 'ses_01m7ra8t5d300zwkjr8hqxz36z', 'ses_01m7ra8t5d300zwkjr8hqxz36z.main', 'agent', 'toolu_waits', '\x6cfe1f38f405bf38d86644634dfddf6dfb7d0a992b1e6c9cd6d5da0fe6d1236e', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}', 2);
INSERT INTO public.events_1 VALUES (12, 5, 11, 1795038669045, 4, 'ses_01m7ra8t5d300zwkjr8hqxz36z', 'ses_01m7ra8t5d300zwkjr8hqxz36z.main', 'agent', 'toolu_waits', '\xfe8ce397e26851b9916a26bbacbc5d06c87eb65ffba16d543e7ac0ecc4f1719e', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"cd5feabd17670944770b12ae7a0b780987b9a32b7173cca9b5e08f37725c7196","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (13, 4, 7, 1795038669053, 5, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'admin', 'toolu_done', '\xb4dd2e67c256f0f545f83287d91550fc8e5f2e275bc240d51fc4feeec51dfc5d', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7ra8t3axmey0cap9aj3d1eq"}', 6);
INSERT INTO public.events_1 VALUES (14, 4, 7, 1795038669062, 7, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'agent', 'toolu_done', '\x0a99ee7e85b9f0b37b0154cd17e2a5e297dc320455a5c4407029663e8bfdd743', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-18T21:51:09.053Z","result":"approved","decision":"allow_once","by":"admin"}}', 7);
INSERT INTO public.events_1 VALUES (15, 4, 9, 1795038669069, 5, 'ses_01m7ra8t59ta4tjxvjdgve79yd', 'ses_01m7ra8t59ta4tjxvjdgve79yd.main', 'admin', 'toolu_denied', '\x9e19070d9fe48aa7be012961a88061f81a1b5e296196a9492b8b5995215f9ba3', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7ra8t3axmey0cap9aj3d1eq"}', 8);
INSERT INTO public.groups VALUES (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO public.groups VALUES (1, '\x257b01c5f6c667397cd7738ffdaeba2a143bb8ef18386d2c4e75548ba097d9f0');
INSERT INTO public.groups VALUES (2, '\xca5c10a6d6732f40f5bc24f1f3d23096e48ec9897d913f170b0a64de8617952f');
INSERT INTO public.groups VALUES (3, '\xba77ce7b269e8a78edea4b0edb078fbd240899a332b7ce55806b437fff88339f');
INSERT INTO public.groups VALUES (4, '\x1bd28b1d69df1fb32dc9e24c724b795c5278a16d00288f49217a3044a5d8c435');
INSERT INTO public.groups VALUES (5, '\x1ab43e2661e3d1eec121622748efa83a408d15540dba6ad99daf2f3d7ddd2c64');
INSERT INTO public.groups VALUES (6, '\x0c8026793c102fd4b4736fdecdf1edcdc7dea7adf51e09ca1e5e8178eafcc703');
INSERT INTO public.groups VALUES (8, '\x7f759ad7addafd3d055ec1abcf4ce7c61254c793aadaaca5f2ba28b7b5307606');
INSERT INTO public.groups VALUES (10, '\x40decad610b0384dbab73ab9bb3ee571ba55dc4e482b9038b648ddd07cf623e6');
INSERT INTO public.groups VALUES (12, '\x78039131d30ed8da86169af31acdbafc53c6424241a77034494228196b4d1471');
INSERT INTO public.groups VALUES (13, '\x9c4fbe15c649b02356674e6e0e96565b9e575a7dd2c76dc15bb28cf595c1078c');
INSERT INTO public.groups VALUES (14, '\xf292587c960eb8751244265b7bfdf00a2af5543bae91e1fd700d7443e1a28705');
INSERT INTO public.groups VALUES (15, '\xadc762bea133d21a80f0afe4fc203b40e7354cb35d538b18e017b9f4304b567c');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('channel', -8215560108264668599);
INSERT INTO public.meta VALUES ('schema_version', 9);
INSERT INTO public.meta VALUES ('server_key', -6124077379370471616);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7ra8t5d300zwkjr8hqxz36z', 'ses_01m7ra8t5d300zwkjr8hqxz36z.main', 'toolu_waits');
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
