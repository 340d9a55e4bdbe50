// tests/interop/programs/recordio_peer.cc: dmlc-core's RecordIO, for recordio_dmlc.sh.
//   recordio_peer write FILE            a record for every line of standard input
//   recordio_peer read FILE             the records of a file, a line each
//   recordio_peer part FILE PART PARTS  the records of one part
#include <dmlc/io.h>
#include <dmlc/recordio.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

static void write_records(const char *path) {
  std::unique_ptr<dmlc::Stream> out(dmlc::Stream::Create(path, "w"));
  dmlc::RecordIOWriter writer(out.get());
  for (std::string line; std::getline(std::cin, line);) writer.WriteRecord(line);
}

static void read_records(const char *path) {
  std::unique_ptr<dmlc::Stream> in(dmlc::Stream::Create(path, "r"));
  dmlc::RecordIOReader reader(in.get());
  for (std::string record; reader.NextRecord(&record);) std::cout << record << '\n';
}

static void read_part(const char *path, unsigned part, unsigned parts) {
  std::unique_ptr<dmlc::InputSplit> split(dmlc::InputSplit::Create(path, part, parts, "recordio"));
  for (dmlc::InputSplit::Blob record; split->NextRecord(&record);)
    std::cout.write(static_cast<const char *>(record.dptr), static_cast<std::streamsize>(record.size)) << '\n';
}

int main(int argc, char **argv) {
  if (argc == 3 && std::strcmp(argv[1], "write") == 0)
    write_records(argv[2]);
  else if (argc == 3 && std::strcmp(argv[1], "read") == 0)
    read_records(argv[2]);
  else if (argc == 5 && std::strcmp(argv[1], "part") == 0)
    read_part(argv[2], static_cast<unsigned>(std::atoi(argv[3])), static_cast<unsigned>(std::atoi(argv[4])));
  else
    return 2;
  return 0;
}
