-- nod_4yarkr11c2admdmeqy8dgwt1a2y6100jtg46gj046cmw6b1nqse2
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
  SELECT last_seq, hash, (SELECT value FROM meta WHERE name = 'schema_version'),
    (SELECT hash FROM chains WHERE session_id = also_session)
    INTO last, before, present, also FROM groups ORDER BY last_seq DESC LIMIT 1;
  SELECT hash INTO link FROM events WHERE seq = known_seq;
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
  IF told <> '' AND octet_length(told) < current_setting('block_size')::int - 1000
    AND pg_notification_queue_usage() < 0.1 THEN
    told := concat_ws(' ', '', last, known_seq, encode(link, 'hex'), told);
  ELSE told := ''; END IF;
  done := pg_notify(channel, node || ' ' || ends || told);
  COMMIT;
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7tw6wszd05kdzde9znn196n', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7tw6wszd05kdzde9znn196n', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7tw6wszd05kdzde9znn196n', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7tw6wszd05kdzde9znn196n', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7tw6wt1esf5vfv2dznf9kpb', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7tw6wt1esf5vfv2dznf9kpb', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7tw6wszd05kdzde9znn196n', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7tw6wszd05kdzde9znn196n', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7tw6wszd05kdzde9znn196n', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\x15acf6039dd46e1b50826b00f373b4538e3da3a18251db1a1dc8fc890723c121', 0, 4);
INSERT INTO public.chains VALUES ('ses_01m7tw6wt1esf5vfv2dznf9kpb', 5, 12, 5, '\xfb0894fc1b62e9ab12b468c629b54a37a0de19d5a3cf1c8a856775b25f20d4e3', 0, 3);
INSERT INTO public.chains VALUES ('ses_01m7tw6wszd05kdzde9znn196n', 4, 15, 4, '\xa1aece4710b1a679a72ec9a79d3d42d1f8f051c4b992bba7c5c5b2bdc13bdb0d', 0, 8);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1795124589364, 14, '', '', 'nod', NULL, '\xef707ccd238053250157c3f2eeb3c6395a4826f35b4aa92e54663b68b807b211', '{"change":"created","id":"tok_01m7tw6wsm0m13dq6pn6w61f3x","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"31ed354f0dcfcccd080e34e9db62a9c0b38d8d246818fe3d2768161fae0d542c"}', 1);
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1795124589371, 14, '', '', 'admin', NULL, '\x6b3f070470406e7e1db8145b8479b133cc7f3078754f7763d77235d8328d7884', '{"change":"created","id":"tok_01m7tw6wsv4kh3hapcv2wtmzk7","name":"agent","role":"agent","scopes":["see","ask"],"hash":"f6d7a486303a05e6e2b1e65cc2015af2b04208b024db21af5e7f66a4dce64852"}', 2);
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1795124589374, 14, '', '', 'admin', NULL, '\xac33fea485bea0743e7f8f0195e32d04063aa08142e524f8f34c9cc67fda787d', '{"change":"created","id":"tok_01m7tw6wsy8atstgbgsxak96h6","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"7e83b1d5006d925630191dd0518007ba73a535933617e5be680aac7ad5816276"}', 3);
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1795124589375, 13, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'agent', NULL, '\x2e605a6af6189eb59bc4c13697d25b8dbd9447e4bab44f616d85b3397d8ddb49', '{"change":"created","threadId":"ses_01m7tw6wszd05kdzde9znn196n.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7tw6wsv4kh3hapcv2wtmzk7"}', 1);
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1795124589377, 13, 'ses_01m7tw6wt1esf5vfv2dznf9kpb', 'ses_01m7tw6wt1esf5vfv2dznf9kpb.main', 'agent', NULL, '\xd0fa032fd8dc3c4055c31f9cf903845acf2c64663c13fcaba538b8509193669e', '{"change":"created","threadId":"ses_01m7tw6wt1esf5vfv2dznf9kpb.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7tw6wsv4kh3hapcv2wtmzk7"}', 1);
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1795124589379, 14, '', '', 'admin', NULL, '\x15acf6039dd46e1b50826b00f373b4538e3da3a18251db1a1dc8fc890723c121', '{"change":"revoked","id":"tok_01m7tw6wsy8atstgbgsxak96h6"}', 4);
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1795124589380, 3, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'agent', 'toolu_done', '\x1dd8b03de0e2c15146911fc3209d82c39faa22e32bbadf3ad87bca1eec478845', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}', 2);
INSERT INTO public.events_1 VALUES (8, 4, 7, 1795124589380, 4, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'agent', 'toolu_done', '\xf8bc0715ea83bd0a0675ad2b65b76673c820d31655a5d41af1ea02b398bd48b2', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"3c9e22792528588f51d442f6c9227bce635b581c335eaf71fe58b514fca72b9e","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1795124589381, 3, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'agent', 'toolu_denied', '\xf0d35098fd4223f39ed63628c1dc2c7c7b7356a2c2ee647a5a08760f2b46d66e', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}', 4);
INSERT INTO public.events_1 VALUES (10, 4, 9, 1795124589381, 4, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'agent', 'toolu_denied', '\x1fa1efc8293bf7c38cf87533ac4261711d8e0bf4891e985c30e58da84258ab2e', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"4111d33430838ba9450ed0648319545e01b2445c534e7c4a2d953c220cf53803","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 5);
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1795124589382, 3, 'ses_01m7tw6wt1esf5vfv2dznf9kpb', 'ses_01m7tw6wt1esf5vfv2dznf9kpb.main', 'agent', 'toolu_waits', '\x96ee3f0decd41bb106faad6236e534f51ed6595c4f811c62b43769114a24ca3a', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}', 2);
INSERT INTO public.events_1 VALUES (12, 5, 11, 1795124589382, 4, 'ses_01m7tw6wt1esf5vfv2dznf9kpb', 'ses_01m7tw6wt1esf5vfv2dznf9kpb.main', 'agent', 'toolu_waits', '\xfb0894fc1b62e9ab12b468c629b54a37a0de19d5a3cf1c8a856775b25f20d4e3', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"030e74a378ed5cda00ff6167f85e61386a07253d040c141c7fa68c97b2f4bbeb","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (13, 4, 7, 1795124589383, 5, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'admin', 'toolu_done', '\xb28633721e738dc95925800cae55fdc51a13e0de3c2b63b74117bf195fefab8a', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7tw6wsm0m13dq6pn6w61f3x"}', 6);
INSERT INTO public.events_1 VALUES (14, 4, 7, 1795124589387, 7, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'agent', 'toolu_done', '\x1d9e0fd304e9cc9a0eabcda89ba41d4137a80d4f73b6e4523832f3bafa8a1e3a', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-19T21:43:09.383Z","result":"approved","decision":"allow_once","by":"admin"}}', 7);
INSERT INTO public.events_1 VALUES (15, 4, 9, 1795124589388, 5, 'ses_01m7tw6wszd05kdzde9znn196n', 'ses_01m7tw6wszd05kdzde9znn196n.main', 'admin', 'toolu_denied', '\xa1aece4710b1a679a72ec9a79d3d42d1f8f051c4b992bba7c5c5b2bdc13bdb0d', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7tw6wsm0m13dq6pn6w61f3x"}', 8);
INSERT INTO public.groups VALUES (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO public.groups VALUES (1, '\x5848de7989bd02f5e4958c5fa21365b1acc84d0f13941bbc734b9215ea1a6f42');
INSERT INTO public.groups VALUES (2, '\x6b7129de75be49b01131b6ee53fe4ba036493f51e462947b79e0c60fdfd2744c');
INSERT INTO public.groups VALUES (3, '\x482fa636595cf00a5b32cc12c3bb8fdf40a9458f90103859d81a7d7975c5e2ee');
INSERT INTO public.groups VALUES (4, '\x98288e6882a33fb308b1ead548369689d500f4ed83040b405dc5c323d20f9c42');
INSERT INTO public.groups VALUES (5, '\x5b4bbd1989b03a7c369123921478523751aae8aecd4603cf22e305e21ce865aa');
INSERT INTO public.groups VALUES (6, '\x6df926b2cd7d4270ae1185333e471ec41c5537dbef74a880efb1b41b9054903f');
INSERT INTO public.groups VALUES (8, '\xe5c21ca68c8a3a04506aaeb27c525404afd187fb561ac0942b29f2a0adcc9094');
INSERT INTO public.groups VALUES (10, '\xb97c2b026908644e3fec65cf63a0f324ca49b3d2392ee966f2f51aaf62f5e9ad');
INSERT INTO public.groups VALUES (12, '\x939b48c76e48c545b410b73fc8cd16fa23ee90a60ad70bb131a6f543835bb4e9');
INSERT INTO public.groups VALUES (13, '\x89c6c3d1c12023857aa4715750f6288d13eef0e8037872fe60686e3eebd83575');
INSERT INTO public.groups VALUES (14, '\x716224c30f94d619107c0fd1fd35a6c8e37cedef9dd655e93798ef2bda2cd4e7');
INSERT INTO public.groups VALUES (15, '\x71acb4ef55b8040e3e1d800234cf372e86b03f93e86893d042e6c611e314c8f5');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('channel', -4784780624203787647);
INSERT INTO public.meta VALUES ('schema_version', 10);
INSERT INTO public.meta VALUES ('server_key', -1021475355872227365);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7tw6wt1esf5vfv2dznf9kpb', 'ses_01m7tw6wt1esf5vfv2dznf9kpb.main', 'toolu_waits');
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
