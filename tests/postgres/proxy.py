"""A small proxy between nodes and their database, which can cut, hold and refuse connections.

It listens as PostgreSQL does, on a Unix socket in a folder of its own, and on a TCP port of the loopback that the
kernel chooses, so the nodes name it as the host. One thread; others give it orders.
"""
import os
import random
import selectors
import shutil
import socket
import tempfile
import threading
import time

PIECE = 65536


class Pair:
    """One connection: a node's end, the server's end, and what is on its way between them."""

    def __init__(self, client, server):
        self.ends = (client, server)
        self.ways = {client: bytearray(), server: bytearray()}  # to whom, what
        self.left = None   # bytes that may still come from the node; None: as many as it likes

    def other(self, end):
        return self.ends[1] if end is self.ends[0] else self.ends[0]


class Proxy:
    def __init__(self, target, seed=0):
        """`target`: the folder of the server's Unix socket."""
        self.target = os.path.join(target, ".s.PGSQL.5432")
        self.folder = tempfile.mkdtemp(prefix="nod-proxy-")
        os.chmod(self.folder, 0o755)
        self.rng = random.Random(seed)
        self.pairs, self.lock, self.choose = [], threading.Lock(), selectors.DefaultSelector()
        self.held = self.refusing = self.over = False
        self.stalled = []   # connections that stopped in the middle
        self.look = None    # called with each piece of a node, in the proxy's thread; True: the node loses the connection now
        self.late = []      # connections that only the server has still
        self.cuts = 0
        self.doors = [socket.socket(socket.AF_UNIX), socket.create_server(("127.0.0.1", 0))]
        self.doors[0].bind(os.path.join(self.folder, ".s.PGSQL.5432"))
        self.doors[0].listen(64)
        self.port = self.doors[1].getsockname()[1]
        for door in self.doors:
            door.setblocking(False)
            self.choose.register(door, selectors.EVENT_READ, None)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def url(self, database):
        return f"postgres:///{database}?host={self.folder}&user=nod"

    # ---- orders ----
    def cut(self, part=1.0):
        """Ends this part of the connections, whatever is on its way; returns how many."""
        with self.lock:
            gone = [pair for pair in self.pairs if self.rng.random() < part]
            for pair in gone:
                self.drop(pair)
            self.cuts += len(gone)
            return len(gone)

    def hold(self, held):
        """Nothing passes, nothing is lost: a network that is away."""
        self.held = held

    def stall(self, size):
        """The connection that is the first to send so many bytes more stops there, and stays open."""
        with self.lock:
            for pair in self.pairs:
                pair.left = size

    def release(self):
        """What was stalled is cut."""
        with self.lock:
            for pair in self.stalled:
                for end in pair.ends:
                    end.close()
            self.stalled = []

    def refuse(self, refusing):
        """Whoever comes is turned away."""
        self.refusing = refusing

    def close(self):
        self.over = True
        self.thread.join(10)
        with self.lock:
            for pair in list(self.pairs):
                self.drop(pair)
        self.release()
        for pair in self.late:
            pair.ends[1].close()
        for door in self.doors:
            door.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- the thread's ----
    def run(self):
        while not self.over:
            if self.held:
                time.sleep(0.005)
                continue
            for key, events in self.choose.select(0.05):
                with self.lock:
                    if key.data is None:
                        self.accept(key.fileobj)
                    elif key.data in self.pairs and not self.held:
                        self.pass_on(key.data, key.fileobj, events)

    def accept(self, door):
        try:
            client, _ = door.accept()
        except OSError:
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            if self.refusing:
                raise OSError
            server.connect(self.target)
        except OSError:
            client.close()
            server.close()
            return
        pair = Pair(client, server)
        self.pairs.append(pair)
        for end in pair.ends:
            end.setblocking(False)
            self.choose.register(end, selectors.EVENT_READ, pair)

    def pass_on(self, pair, end, events):
        try:
            if events & selectors.EVENT_READ:
                piece = end.recv(PIECE)
                if not piece:
                    return self.drop(pair)
                if self.look and end is pair.ends[0] and self.look(piece):
                    return self.lose(pair, piece)
                if pair.left is not None and end is pair.ends[0]:
                    pair.left -= len(piece)
                    if pair.left <= 0:
                        return self.freeze(pair, piece[:len(piece) + pair.left])
                pair.ways[pair.other(end)] += piece
            for to, waiting in pair.ways.items():
                if waiting:
                    del waiting[:self.send(to, waiting)]
                self.watch(to, selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0), pair)
        except OSError:
            self.drop(pair)
        return None

    def lose(self, pair, last):
        """The node's end is closed; what it had sent stays here until deliver()."""
        self.pairs.remove(pair)
        for end in pair.ends:
            self.choose.unregister(end)
        pair.ends[0].close()
        pair.ways[pair.ends[1]] += last
        self.late.append(pair)

    def deliver(self):
        """What lost connections had sent arrives at the server."""
        for pair in self.late:
            pair.ends[1].setblocking(True)
            pair.ends[1].sendall(pair.ways[pair.ends[1]])
            pair.ways[pair.ends[1]].clear()

    def freeze(self, pair, last):
        """The server gets `last`, and nobody anything after that."""
        for other in self.pairs:
            other.left = None
        self.pairs.remove(pair)
        self.stalled.append(pair)
        for end in pair.ends:
            self.choose.unregister(end)
        pair.ends[1].setblocking(True)
        pair.ends[1].sendall(pair.ways[pair.ends[1]] + last)

    def send(self, to, waiting):
        try:
            return to.send(waiting)
        except BlockingIOError:
            return 0

    def watch(self, end, events, pair):
        if self.choose.get_key(end).events != events:
            self.choose.modify(end, events, pair)

    def drop(self, pair):
        self.pairs.remove(pair)
        for end in pair.ends:
            self.choose.unregister(end)
            end.close()
