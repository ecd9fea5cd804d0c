# SPDX-License-Identifier: Apache-2.0
"""A small Kafka client for tests, on librdkafka by way of ctypes: create topics, produce any bytes, read a partition back.

    client = Client("127.0.0.1:9092")
    client.create_topic("scores", replication=1, configs={"min.insync.replicas": "1"})
    client.produce("scores", b"value", key=b"key")        # returns the offset; waits until it is acknowledged
    client.records("scores")                              # [Record(offset, key, value), ...] up to the end

It is there for what a server under test does not do: write bytes that are not its own, make topics that it must refuse."""
import collections
import ctypes
import ctypes.util
import sys
import time

WAIT_MS = 60000  # only reached when something is wrong
PRODUCER, CONSUMER = 0, 1
CONF_OK = 0
COPY = 2
PARTITION_EOF = -191
OFFSET_BEGINNING = -2
# Of rdkafka.h, for permissions.
RESOURCE_TOPIC, PATTERN_LITERAL, PERMISSION_ALLOW = 2, 3, 3
OPERATIONS = {"read": 3, "write": 4, "create": 5, "describe": 8, "describe_configs": 10}
CREATE_TOPICS = 1
SIZE = 512

Record = collections.namedtuple("Record", "offset key value")


class Message(ctypes.Structure):
    _fields_ = [("err", ctypes.c_int), ("rkt", ctypes.c_void_p), ("partition", ctypes.c_int32), ("payload", ctypes.c_void_p),
                ("len", ctypes.c_size_t), ("key", ctypes.c_void_p), ("key_len", ctypes.c_size_t), ("offset", ctypes.c_int64),
                ("private", ctypes.c_void_p)]


class MetadataPartition(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int32), ("err", ctypes.c_int), ("leader", ctypes.c_int32), ("replica_count", ctypes.c_int),
                ("replicas", ctypes.c_void_p), ("isr_count", ctypes.c_int), ("isrs", ctypes.c_void_p)]


class MetadataTopic(ctypes.Structure):
    _fields_ = [("topic", ctypes.c_char_p), ("partition_count", ctypes.c_int), ("partitions", ctypes.POINTER(MetadataPartition)),
                ("err", ctypes.c_int)]


class Metadata(ctypes.Structure):
    _fields_ = [("broker_count", ctypes.c_int), ("brokers", ctypes.c_void_p), ("topic_count", ctypes.c_int),
                ("topics", ctypes.POINTER(MetadataTopic))]


def library():
    path = ctypes.util.find_library("rdkafka")
    if not path:
        print("skipped: there is no librdkafka")
        sys.exit(77)
    lib = ctypes.CDLL(path)
    for name in ("conf_new", "new", "topic_new", "queue_new", "queue_poll", "NewTopic_new", "DeleteTopic_new", "DeleteRecords_new",
                 "AclBinding_new", "topic_partition_list_new", "topic_partition_list_add", "event_CreateTopics_result",
                 "CreateTopics_result_topics"):
        getattr(lib, f"rd_kafka_{name}").restype = ctypes.c_void_p
    for name in ("err2str", "topic_result_error_string", "clusterid"):
        getattr(lib, f"rd_kafka_{name}").restype = ctypes.c_char_p
    lib.rd_kafka_consume.restype = ctypes.POINTER(Message)
    return lib


class KafkaError(Exception):
    pass


class Client:
    def __init__(self, addresses, **settings):
        self.lib = library()
        self.reports = []  # of the last produce: (error, offset)
        self.callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(Message), ctypes.c_void_p)(self._report)
        self.settings = {"bootstrap.servers": addresses, "message.timeout.ms": "30000", "log_level": "0",
                         **{k.replace("_", "."): v for k, v in settings.items()}}
        self.producer = self._create(PRODUCER, {"acks": "all"})

    def _report(self, _, message, __):
        self.reports.append((message.contents.err, message.contents.offset))

    def _create(self, kind, more):
        lib, said = self.lib, ctypes.create_string_buffer(SIZE)
        conf = ctypes.c_void_p(lib.rd_kafka_conf_new())
        for name, value in {**self.settings, **more}.items():
            if kind == CONSUMER and name == "message.timeout.ms":
                continue
            if lib.rd_kafka_conf_set(conf, name.encode(), str(value).encode(), said, SIZE) != CONF_OK:
                raise KafkaError(said.value.decode())
        if kind == PRODUCER:
            lib.rd_kafka_conf_set_dr_msg_cb(conf, self.callback)
        handle = lib.rd_kafka_new(kind, conf, said, SIZE)
        if not handle:
            raise KafkaError(said.value.decode())
        return ctypes.c_void_p(handle)

    def _fail(self, err):
        raise KafkaError(self.lib.rd_kafka_err2str(err).decode())

    def create_topic(self, name, partitions=1, replication=1, configs=None):
        lib, said = self.lib, ctypes.create_string_buffer(SIZE)
        topic = ctypes.c_void_p(lib.rd_kafka_NewTopic_new(name.encode(), partitions, replication, said, SIZE))
        for key, value in (configs or {}).items():
            lib.rd_kafka_NewTopic_set_config(topic, key.encode(), str(value).encode())
        queue = ctypes.c_void_p(lib.rd_kafka_queue_new(self.producer))
        lib.rd_kafka_CreateTopics(self.producer, (ctypes.c_void_p * 1)(topic), ctypes.c_size_t(1), None, queue)
        event = ctypes.c_void_p(lib.rd_kafka_queue_poll(queue, WAIT_MS))
        try:
            err = lib.rd_kafka_event_error(event)
            if err:
                self._fail(err)
            count = ctypes.c_size_t()
            results = ctypes.cast(ctypes.c_void_p(lib.rd_kafka_CreateTopics_result_topics(
                ctypes.c_void_p(lib.rd_kafka_event_CreateTopics_result(event)), ctypes.byref(count))), ctypes.POINTER(ctypes.c_void_p))
            err = lib.rd_kafka_topic_result_error(ctypes.c_void_p(results[0]))
            if err:
                self._fail(err)
        finally:
            lib.rd_kafka_event_destroy(event)
            lib.rd_kafka_queue_destroy(queue)
            lib.rd_kafka_NewTopic_destroy(topic)

    def _change(self, call, thing):
        lib = self.lib
        queue = ctypes.c_void_p(lib.rd_kafka_queue_new(self.producer))
        call(self.producer, (ctypes.c_void_p * 1)(thing), ctypes.c_size_t(1), None, queue)
        event = ctypes.c_void_p(lib.rd_kafka_queue_poll(queue, WAIT_MS))
        err = lib.rd_kafka_event_error(event)
        lib.rd_kafka_event_destroy(event)
        lib.rd_kafka_queue_destroy(queue)
        if err:
            self._fail(err)

    def delete_topic(self, name):
        topic = ctypes.c_void_p(self.lib.rd_kafka_DeleteTopic_new(name.encode()))
        self._change(self.lib.rd_kafka_DeleteTopics, topic)
        self.lib.rd_kafka_DeleteTopic_destroy(topic)

    def delete_records(self, topic, before, partition=0):
        """As retention does."""
        lib = self.lib
        places = ctypes.c_void_p(lib.rd_kafka_topic_partition_list_new(1))
        lib.rd_kafka_topic_partition_list_add(places, topic.encode(), ctypes.c_int32(partition))
        lib.rd_kafka_topic_partition_list_set_offset(places, topic.encode(), ctypes.c_int32(partition), ctypes.c_int64(before))
        records = ctypes.c_void_p(lib.rd_kafka_DeleteRecords_new(places))
        self._change(lib.rd_kafka_DeleteRecords, records)
        lib.rd_kafka_DeleteRecords_destroy(records)
        lib.rd_kafka_topic_partition_list_destroy(places)

    def allow(self, user, operation, topic):
        """Let a user do something with a topic, where a broker checks that."""
        lib, said = self.lib, ctypes.create_string_buffer(SIZE)
        binding = ctypes.c_void_p(lib.rd_kafka_AclBinding_new(
            RESOURCE_TOPIC, topic.encode(), PATTERN_LITERAL, f"User:{user}".encode(), b"*", OPERATIONS[operation], PERMISSION_ALLOW, said, SIZE))
        if not binding:
            raise KafkaError(said.value.decode())
        self._change(lib.rd_kafka_CreateAcls, binding)
        lib.rd_kafka_AclBinding_destroy(binding)

    def produce(self, topic, value, key=None, partition=0):
        """The offset of the record, once it is acknowledged."""
        lib = self.lib
        handle = ctypes.c_void_p(lib.rd_kafka_topic_new(self.producer, topic.encode(), None))
        self.reports = []
        failed = lib.rd_kafka_produce(handle, ctypes.c_int32(partition), COPY, value, ctypes.c_size_t(len(value)), key,
                                      ctypes.c_size_t(len(key or b"")), None)
        end = time.monotonic() + WAIT_MS / 1000
        while not failed and not self.reports and time.monotonic() < end:
            lib.rd_kafka_poll(self.producer, 100)
        lib.rd_kafka_topic_destroy(handle)
        if failed or not self.reports:
            raise KafkaError("the record was not taken")
        err, offset = self.reports[0]
        if err:
            self._fail(err)
        return offset

    def produce_all(self, topic, records):
        """Many records, each (partition, value), without waiting for each; returns when all are acknowledged."""
        lib = self.lib
        handle = ctypes.c_void_p(lib.rd_kafka_topic_new(self.producer, topic.encode(), None))
        self.reports = []
        for partition, value in records:
            while lib.rd_kafka_produce(handle, ctypes.c_int32(partition), COPY, value, ctypes.c_size_t(len(value)), None,
                                       ctypes.c_size_t(0), None):
                lib.rd_kafka_poll(self.producer, 10)  # its queue is full
        lib.rd_kafka_flush(self.producer, WAIT_MS)
        lib.rd_kafka_topic_destroy(handle)
        failed = [err for err, _ in self.reports if err]
        if failed or len(self.reports) != len(records):
            raise KafkaError(f"{len(failed)} of {len(records)} records were not taken")

    def _headers(self, message):
        """Of a message, by name."""
        lib, found = self.lib, {}
        headers, name, value, size = ctypes.c_void_p(), ctypes.c_char_p(), ctypes.c_void_p(), ctypes.c_size_t()
        if lib.rd_kafka_message_headers(message, ctypes.byref(headers)):
            return found
        at = 0
        while not lib.rd_kafka_header_get_all(headers, ctypes.c_size_t(at), ctypes.byref(name), ctypes.byref(value),
                                              ctypes.byref(size)):
            found[name.value.decode()] = ctypes.string_at(value, size.value).decode()
            at += 1
        return found

    def records(self, topic, partition=0, start=OFFSET_BEGINNING):
        """All records that are there now."""
        return [record for record, _ in self.records_and_headers(topic, partition, start)]

    def records_and_headers(self, topic, partition=0, start=OFFSET_BEGINNING):
        """The same, each with its headers."""
        lib, found = self.lib, []
        consumer = self._create(CONSUMER, {"enable.partition.eof": "true"})
        handle = ctypes.c_void_p(lib.rd_kafka_topic_new(consumer, topic.encode(), None))
        lib.rd_kafka_consume_start(handle, ctypes.c_int32(partition), ctypes.c_int64(start))
        try:
            while True:
                message = lib.rd_kafka_consume(handle, ctypes.c_int32(partition), WAIT_MS)
                if not message:
                    raise KafkaError("no record came")
                m = message.contents
                err = m.err
                if not err:
                    found.append((Record(m.offset, ctypes.string_at(m.key, m.key_len) if m.key else None,
                                         ctypes.string_at(m.payload, m.len)), self._headers(message)))
                lib.rd_kafka_message_destroy(message)
                if err == PARTITION_EOF:
                    return found
                if err:
                    self._fail(err)
        finally:
            lib.rd_kafka_consume_stop(handle, ctypes.c_int32(partition))
            lib.rd_kafka_topic_destroy(handle)
            lib.rd_kafka_destroy(consumer)

    def set_offsets(self, group, topic, offsets):
        """What a group without members has committed, as an operator's tool sets it: {partition: offset}."""
        lib = self.lib
        consumer = self._create(CONSUMER, {"group.id": group})
        places = ctypes.c_void_p(lib.rd_kafka_topic_partition_list_new(len(offsets)))
        for partition, offset in offsets.items():
            lib.rd_kafka_topic_partition_list_add(places, topic.encode(), ctypes.c_int32(partition))
            lib.rd_kafka_topic_partition_list_set_offset(places, topic.encode(), ctypes.c_int32(partition), ctypes.c_int64(offset))
        err = lib.rd_kafka_commit(consumer, places, 0)
        lib.rd_kafka_topic_partition_list_destroy(places)
        lib.rd_kafka_destroy(consumer)
        if err:
            self._fail(err)

    def leader(self, topic, partition=0):
        """The number of the broker that leads the partition."""
        lib, found = self.lib, ctypes.POINTER(Metadata)()
        handle = ctypes.c_void_p(lib.rd_kafka_topic_new(self.producer, topic.encode(), None))
        err = lib.rd_kafka_metadata(self.producer, 0, handle, ctypes.byref(found), WAIT_MS)
        lib.rd_kafka_topic_destroy(handle)
        if err:
            self._fail(err)
        leader = found.contents.topics[0].partitions[partition].leader
        lib.rd_kafka_metadata_destroy(found)
        return leader

    def cluster_id(self):
        return self.lib.rd_kafka_clusterid(self.producer, WAIT_MS).decode()

    def close(self):
        if self.producer:
            self.lib.rd_kafka_destroy(self.producer)
            self.producer = None
