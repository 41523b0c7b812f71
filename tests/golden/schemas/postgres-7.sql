-- nod_psxf9bj9j0e786c1ce67c6hvatxb5ccatj8bqzjtbw9hbas7j0p9
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
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jwv6hwex69rkkb5gf50jnn', 3, 7);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jwv6hwex69rkkb5gf50jnn', 4, 8);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7jwv6hwex69rkkb5gf50jnn', 3, 9);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7jwv6hwex69rkkb5gf50jnn', 4, 10);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7jwv6j8amjk9qz3et2px369', 3, 11);
INSERT INTO public.calls VALUES ('toolu_waits', 'ses_01m7jwv6j8amjk9qz3et2px369', 4, 12);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jwv6hwex69rkkb5gf50jnn', 5, 13);
INSERT INTO public.calls VALUES ('toolu_done', 'ses_01m7jwv6hwex69rkkb5gf50jnn', 7, 14);
INSERT INTO public.calls VALUES ('toolu_denied', 'ses_01m7jwv6hwex69rkkb5gf50jnn', 5, 15);
INSERT INTO public.chains VALUES ('', 1, 6, 0, '\xaa060f2c99642454ef52474456fa34f4037c79bd1d44dc45cedc11de3d60417e', 0, 4);
INSERT INTO public.chains VALUES ('ses_01m7jwv6j8amjk9qz3et2px369', 5, 12, 5, '\x92275dad3214fae22ad9d7ff2b492e61d57708e753da03cb17a381cfd61e6ca6', 0, 3);
INSERT INTO public.chains VALUES ('ses_01m7jwv6hwex69rkkb5gf50jnn', 4, 15, 4, '\x818b487d2e1b3891e991a1bbf5820ebd5ef54ff860ce00f5318bb693d0cd7ddf', 0, 8);
INSERT INTO public.events_1 VALUES (1, 1, NULL, 1794856819196, 14, '', '', 'nod', NULL, '\xe07d1a04b1786f4e35f8ca899b101ffc382f1fcc8aef83c816b048c585c6de0d', '{"change":"created","id":"tok_01m7jwv6fwr538923rt876fpg6","name":"admin","role":"admin","scopes":["see","see.all","ask","decide","rules.session","settings","rules.user","trust","run","tokens","logins","archive"],"hash":"bcaa5ca15618bc785aa3e4246c9e2f3375f12aeb0911d9736a2e9edb8bbef66e"}', 1);
INSERT INTO public.events_1 VALUES (2, 1, NULL, 1794856819237, 14, '', '', 'admin', NULL, '\xa4abd4ca3cce4b3c1817a10bd4c07f4a6268f1a1b86e854fbe5e92b9840fd03e', '{"change":"created","id":"tok_01m7jwv6h5mqd96jw3s3gpk7dw","name":"agent","role":"agent","scopes":["see","ask"],"hash":"3552a608e34bfa0f015a3e58c3210a264e327e81c8ac0b895d09c076a2bc651b"}', 2);
INSERT INTO public.events_1 VALUES (3, 1, NULL, 1794856819248, 14, '', '', 'admin', NULL, '\xe77898a1ba11d2a4a09c7a2c92067a9eacbe71a72aafb43a74c5271b0590c3ae', '{"change":"created","id":"tok_01m7jwv6hgx4vm0z96nrnvtypg","name":"gone","role":"viewer","scopes":["see","see.all"],"hash":"ee6f2fbf4b8f3fa8faf5cda9b4604767ee61adfb957fd4abb1b47ace588d2ee9"}', 3);
INSERT INTO public.events_1 VALUES (4, 4, NULL, 1794856819260, 13, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'agent', NULL, '\x6173ca7f37361f25b13fd2aa7f938717ecde3c0607587182836350130c0b72c9', '{"change":"created","threadId":"ses_01m7jwv6hwex69rkkb5gf50jnn.main","title":"first","cwd":"/p","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7jwv6h5mqd96jw3s3gpk7dw"}', 1);
INSERT INTO public.events_1 VALUES (5, 5, NULL, 1794856819272, 13, 'ses_01m7jwv6j8amjk9qz3et2px369', 'ses_01m7jwv6j8amjk9qz3et2px369.main', 'agent', NULL, '\x5652cde47146819b009072e816506a0ef3b9e7360860e595551a7e62e4f10fc0', '{"change":"created","threadId":"ses_01m7jwv6j8amjk9qz3et2px369.main","title":"second","cwdProposed":true,"approvalTimeoutSeconds":0,"owner":"tok_01m7jwv6h5mqd96jw3s3gpk7dw"}', 1);
INSERT INTO public.events_1 VALUES (6, 1, NULL, 1794856819287, 14, '', '', 'admin', NULL, '\xaa060f2c99642454ef52474456fa34f4037c79bd1d44dc45cedc11de3d60417e', '{"change":"revoked","id":"tok_01m7jwv6hgx4vm0z96nrnvtypg"}', 4);
INSERT INTO public.events_1 VALUES (7, 4, NULL, 1794856819300, 3, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'agent', 'toolu_done', '\xa7595809c0fcb7d0f0d1a940da5b303fda982e6946901f97e9cef281404af672', '{"id":"toolu_done","name":"Bash","input":{"command": "cc toolu_done.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_done.c`"}}', 2);
INSERT INTO public.events_1 VALUES (8, 4, 7, 1794856819300, 4, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'agent', 'toolu_done', '\x8cdd4421725eb706bf63bf11614e4e6168282da7610bc77a7ce6df61ae335f28', '{"toolCallId":"toolu_done","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_done.c`"},"digest":"44c4bbe1d907a912db410fad985b4840f1a47bc813e2d8dd3cba489d59e47e64","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_done.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (9, 4, NULL, 1794856819308, 3, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'agent', 'toolu_denied', '\xc7ac5db19101123894327d23edf931434e4e6d7cb5f44debc2596b3b4139395f', '{"id":"toolu_denied","name":"Bash","input":{"command": "cc toolu_denied.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_denied.c`"}}', 4);
INSERT INTO public.events_1 VALUES (10, 4, 9, 1794856819308, 4, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'agent', 'toolu_denied', '\xce599e290b8b96a39a5a6f1d296f0629a73822edc7e4983d2472ce3aa4936e12', '{"toolCallId":"toolu_denied","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_denied.c`"},"digest":"8f2e9c7336af191233432dce6f3a2cad1adbcce7ce0fe1c859b2ce0a25bee37d","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_denied.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 5);
INSERT INTO public.events_1 VALUES (11, 5, NULL, 1794856819317, 3, 'ses_01m7jwv6j8amjk9qz3et2px369', 'ses_01m7jwv6j8amjk9qz3et2px369.main', 'agent', 'toolu_waits', '\x5e54cd2c25a79d5d34bc54bd64cb3e686a6e866d807347a5d819c6b018b8083f', '{"id":"toolu_waits","name":"Bash","input":{"command": "cc toolu_waits.c\n''\u00fc''"},"verdict":{"effect":"ask","source":"default","why":"no rule allows `cc toolu_waits.c`"}}', 2);
INSERT INTO public.events_1 VALUES (12, 5, 11, 1794856819317, 4, 'ses_01m7jwv6j8amjk9qz3et2px369', 'ses_01m7jwv6j8amjk9qz3et2px369.main', 'agent', 'toolu_waits', '\x92275dad3214fae22ad9d7ff2b492e61d57708e753da03cb17a381cfd61e6ca6', '{"toolCallId":"toolu_waits","tool":"Bash","reason":{"source":"default","why":"no rule allows `cc toolu_waits.c`"},"digest":"9892b3c1ed7632a7ee913f2fb4ed190c80b05be040b7398a273da142353b77fd","shown":{"risk":["overwrites","unknown"],"risky":true,"riskWords":["writes files that may be there already, or outside the session''s folder","Nod does not know what it does: look at it closely"],"parts":[{"text":"cc toolu_waits.c","effect":"ask","why":"no rule allows it","depth":0,"risk":["overwrites"]},{"text":"''ü''","operator":";","effect":"ask","why":"no rule allows it","depth":0,"risk":["unknown"]}]}}', 3);
INSERT INTO public.events_1 VALUES (13, 4, 7, 1794856819326, 5, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'admin', 'toolu_done', '\x8f18960b04cabcb1df1c5d943ab433c63da347d0192c9519ada8d2369ba24d6c', '{"toolCallId":"toolu_done","decision":"allow_once","by":"tok_01m7jwv6fwr538923rt876fpg6"}', 6);
INSERT INTO public.events_1 VALUES (14, 4, 7, 1794856819343, 7, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'agent', 'toolu_done', '\xd5f515da056edbbe17ec7b5aaf672759ee28fbf092b52eeb78ad029eca30f4c3', '{"toolCallId":"toolu_done","content":"42","isError":false,"permissions":{"date":"2026-11-16T19:20:19.326Z","result":"approved","decision":"allow_once","by":"admin"}}', 7);
INSERT INTO public.events_1 VALUES (15, 4, 9, 1794856819356, 5, 'ses_01m7jwv6hwex69rkkb5gf50jnn', 'ses_01m7jwv6hwex69rkkb5gf50jnn.main', 'admin', 'toolu_denied', '\x818b487d2e1b3891e991a1bbf5820ebd5ef54ff860ce00f5318bb693d0cd7ddf', '{"toolCallId":"toolu_denied","decision":"deny","feedback":"no","by":"tok_01m7jwv6fwr538923rt876fpg6"}', 8);
INSERT INTO public.groups VALUES (0, '\x0000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO public.groups VALUES (1, '\x7992e8ec3e6d2afc424ab9d8cb77881e9d8d7f5a28794798d56fd6d501617dbc');
INSERT INTO public.groups VALUES (2, '\x59eeb11b5e0e66c497ba6aafe48ad1acf385a24eafe509791fe956ad7f22594b');
INSERT INTO public.groups VALUES (3, '\x5a87d7305babc6cd0f277b498a8cb326be079af8bc9eca39d045ae5b0f3e8738');
INSERT INTO public.groups VALUES (4, '\xbe67b1b2c07fa80454f0f1c779ac4f61b5bb4ff78f8015cf82fa10d171c791f7');
INSERT INTO public.groups VALUES (5, '\xa8b5864c94d2b602d96b0f656eb1cc98ac11c2f6d5f6b9789f3b4702fc8f2684');
INSERT INTO public.groups VALUES (6, '\xa53fe741ac0b5e5a198fe623d9382f2ca2f6d5d4737cb3a94abb38c8ed54981a');
INSERT INTO public.groups VALUES (8, '\xa560f7ae5d113f40181f4c61fda1bfb2a6c9badb7332a29e24316a450858d635');
INSERT INTO public.groups VALUES (10, '\x0f239079b07e2414a9be9bf6985b252ffecb85b53df797ab38ad49cc35ff34f7');
INSERT INTO public.groups VALUES (12, '\xa681f7ab233c2e0fc66a90b75fa088d3bc1f3b952b16ada97e8b7ddb6e7eb64c');
INSERT INTO public.groups VALUES (13, '\xd64b62555daea6c5a5471074423af0f22bf016c9d1a1b9aed50a7eff9da72d07');
INSERT INTO public.groups VALUES (14, '\x1cce2f05f2c3482fa562ed4a459a077404c01407ca3b2a2e0c62c902e21d49d2');
INSERT INTO public.groups VALUES (15, '\x4137d9bc02d365bf457960aa81ee5ba8ea658cc26627a6cca6158a45f5d28aad');
INSERT INTO public.meta VALUES ('part_seqs', 1048576);
INSERT INTO public.meta VALUES ('schema_version', 7);
INSERT INTO public.open_approvals VALUES (12, 11, 0, 'ses_01m7jwv6j8amjk9qz3et2px369', 'ses_01m7jwv6j8amjk9qz3et2px369.main', 'toolu_waits');
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
