#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <mercer/error.hpp>
#include <mercer/progress.hpp>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace mercer {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "mercer-atomic-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    chmod(folder_.c_str(), 0755);
  }
  void TearDown() override {
    chmod(folder_.c_str(), 0755);
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  static std::string content(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static void put(const std::string& name, const std::string& text) { std::ofstream(name, std::ios::binary) << text; }

  static void save(const std::string& name, const std::string& text) {
    AtomicFile file(name);
    file.write(text);
    file.commit();
  }

  /// Number of entries of the folder: catches a temporary left behind under whatever name.
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  static mode_t mode(const std::string& name) {
    struct stat status {};
    return stat(name.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

  /// The message of the Error(file) that `work` must throw, one line that begins with the path.
  static std::string refusal(const std::string& name, const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::file);
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos);
      EXPECT_EQ(message.rfind(name, 0), 0U) << message;
      return message;
    }
    ADD_FAILURE() << name << ": no error";
    return {};
  }

  std::string folder_;
};

/// Runs `work` in a child process; true when it returned true.
bool in_child(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    bool good = false;
    try {
      good = work();
    } catch (...) {
      good = false;
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(AtomicFileTest, WritesWholeFilesOfEverySize) {
  for (const std::size_t size : {0U, 1U, 65535U, 65536U, 65537U, 1000000U}) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 256);
    save(path("a"), text);
    EXPECT_EQ(content(path("a")), text) << size;
  }
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, KeepsTheOrderOfSmallAndLargeWrites) {
  std::string expected;
  AtomicFile file(path("a"));
  for (int i = 0; i < 200; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 10 == 0 ? 70000 : i), static_cast<char>('a' + i % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(content(path("a")), expected);
}

TEST_F(AtomicFileTest, OldContentStaysUntilCommitAndAfterDestruction) {
  put(path("a"), "old");
  {
    AtomicFile file(path("a"));
    file.write("new");
    EXPECT_EQ(content(path("a")), "old");
  }
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(entries(), 1);
  { const AtomicFile file(path("b")); }
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, AStopBeforeTheFileIsThereLeavesTheOldOne) {
  put(path("a"), "old");
  for (const bool written : {false, true}) {
    SCOPED_TRACE(written);
    try {
      AtomicFile file(path("a"));
      if (!written) request_stop();
      file.write(std::string(1 << 22, 'x'));
      request_stop();
      file.commit();
      ADD_FAILURE() << "not stopped";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::interrupted);
    }
    clear_stop();
    EXPECT_EQ(content(path("a")), "old");
    EXPECT_EQ(entries(), 1);
  }
}

TEST_F(AtomicFileTest, UseAfterCommitIsOurOwnFault) {
  AtomicFile file(path("a"));
  file.commit();
  for (const auto& work : {std::function<void()>([&] { file.write("x"); }), std::function<void()>([&] { file.commit(); })}) {
    try {
      work();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::internal);
    }
  }
}

TEST_F(AtomicFileTest, NewFilesFollowTheUmaskAndOldOnesKeepTheirMode) {
  const mode_t old_mask = umask(027);
  save(path("new"), "x");
  umask(old_mask);
  EXPECT_EQ(mode(path("new")), 0640U);

  put(path("old"), "x");
  chmod(path("old").c_str(), 0604);
  save(path("old"), "y");
  EXPECT_EQ(mode(path("old")), 0604U);
}

TEST_F(AtomicFileTest, SymbolicLinksStayLinks) {
  fs::create_directory(path("deep"));
  put(path("deep/real"), "old");
  fs::create_symlink("deep/real", path("relative"));
  fs::create_symlink(path("relative"), path("absolute"));
  save(path("absolute"), "new");
  EXPECT_TRUE(fs::is_symlink(path("absolute")));
  EXPECT_TRUE(fs::is_symlink(path("relative")));
  EXPECT_EQ(content(path("deep/real")), "new");

  fs::create_symlink("deep/not-yet", path("dangling"));
  save(path("dangling"), "born");
  EXPECT_TRUE(fs::is_symlink(path("dangling")));
  EXPECT_EQ(content(path("deep/not-yet")), "born");

  fs::create_symlink("loop", path("loop"));
  refusal(path("loop"), [&] { AtomicFile file(path("loop")); });
}

TEST_F(AtomicFileTest, RelativeNamesLongNamesAndOddNames) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  save("plain", "1");
  fs::current_path(before);
  EXPECT_EQ(content(path("plain")), "1");

  for (const std::string& name : {std::string(255, 'n'), std::string("späce \n'$(x)"), std::string("-")}) {
    save(path(name), name);
    EXPECT_EQ(content(path(name)), name);
  }
  EXPECT_EQ(entries(), 4);
  const std::string too_long = path(std::string(256, 'n'));
  refusal(too_long, [&] { AtomicFile file(too_long); });
  EXPECT_EQ(entries(), 4);
}

TEST_F(AtomicFileTest, StaleTemporariesOfAKilledProcessAreNoObstacle) {
  for (int i = 0; i < 200; ++i) put(path(".a.tmp-" + std::to_string(getpid()) + "-" + std::to_string(i)), "stale");
  save(path("a"), "fresh");
  EXPECT_EQ(content(path("a")), "fresh");
  EXPECT_EQ(entries(), 201);
}

TEST_F(AtomicFileTest, SaysWhyItCannotWrite) {
  const std::string missing = path("no/such/a");
  EXPECT_NE(refusal(missing, [&] { AtomicFile file(missing); }).find("folder does not exist"), std::string::npos);
  EXPECT_NE(refusal(folder_, [&] { AtomicFile file(folder_); }).find("directory"), std::string::npos);
  const std::string slash = path("new/");
  EXPECT_NE(refusal(slash, [&] { AtomicFile file(slash); }).find("directory"), std::string::npos);
  put(path("plain"), "x");
  const std::string through = path("plain/a");
  refusal(through, [&] { AtomicFile file(through); });
  refusal("the name", [] { AtomicFile file(""); });
  EXPECT_NE(refusal("/dev/full", [] { save("/dev/full", "x"); }).find("No space"), std::string::npos);
  EXPECT_NE(refusal("/dev/full", [] { save("/dev/full", std::string(1000000, 'x')); }).find("No space"), std::string::npos);
  refusal("/dev/fd/999999", [] { AtomicFile file("/dev/fd/999999"); });
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, RespectsReadOnlyFoldersAndFiles) {
  put(path("a"), "old");
  chmod(path("a").c_str(), 0444);
  chmod(folder_.c_str(), 0555);
  const bool good = in_child([&] {
    if (geteuid() == 0 && setuid(65534) != 0) return false;
    for (const std::string& name : {path("a"), path("b")}) {
      if (refusal(name, [&] { save(name, "x"); }).find("Permission denied") == std::string::npos) return false;
    }
    return !HasFailure();
  });
  EXPECT_TRUE(good);
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, FullDiskLeavesTheOldFile) {
  put(path("a"), "old");
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  getrlimit(RLIMIT_FSIZE, &old_limit);
  rlimit limit = old_limit;
  limit.rlim_cur = 100000;
  setrlimit(RLIMIT_FSIZE, &limit);
  std::string message;
  for (const std::size_t size : {100001U, 1000000U}) {
    for (const std::size_t piece : {10U, 1000000U}) {  // fails in a write that flushes the buffer, in a large one, in commit
      message = refusal(path("a"), [&] {
        AtomicFile file(path("a"));
        for (std::size_t done = 0; done < size; done += piece) file.write(std::string(std::min(piece, size - done), 'x'));
        file.commit();
      });
    }
  }
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(message.find("File too large"), std::string::npos);
  EXPECT_EQ(content(path("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, FolderVanishesBeforeCommit) {
  fs::create_directory(path("deep"));
  AtomicFile file(path("deep/a"));
  file.write("x");
  fs::remove_all(path("deep"));
  refusal(path("deep/a"), [&] { file.commit(); });
  EXPECT_EQ(entries(), 0);
}

TEST_F(AtomicFileTest, NameBecomesAFolderBeforeCommit) {
  AtomicFile file(path("a"));
  fs::create_directory(path("a"));
  refusal(path("a"), [&] { file.commit(); });
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, StandardOutputIsAppendedTo) {
  put(path("out"), "before ");
  EXPECT_TRUE(in_child([&] {
    const int out = open(path("out").c_str(), O_WRONLY | O_APPEND);
    dup2(out, STDOUT_FILENO);
    save("/dev/stdout", "one ");
    save("/dev/fd/1", "two ");
    save("/proc/self/fd/1", "three");
    return true;
  }));
  EXPECT_EQ(content(path("out")), "before one two three");
  EXPECT_EQ(entries(), 1);
}

std::atomic<int> alarms{0};

/// A FIFO with a slow reader gives short writes, and a timer whose handler does not restart system calls gives EINTR.
TEST_F(AtomicFileTest, FifoSurvivesSignalsAndShortWrites) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string text(600000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 13 + i / 1000);

  sigset_t block{};
  sigemptyset(&block);
  sigaddset(&block, SIGALRM);
  std::string received;
  pthread_sigmask(SIG_BLOCK, &block, nullptr);  // the reader inherits this; the alarms reach the writer
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const int pipe = open(path("pipe").c_str(), O_RDONLY);
    std::vector<char> buffer(10000);
    for (ssize_t count = 0; (count = read(pipe, buffer.data(), buffer.size())) > 0;) {
      received.append(buffer.data(), static_cast<std::size_t>(count));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    close(pipe);
  });
  pthread_sigmask(SIG_UNBLOCK, &block, nullptr);
  struct sigaction action {};
  action.sa_handler = [](int) { ++alarms; };
  struct sigaction old {};
  sigaction(SIGALRM, &action, &old);
  itimerval timer{{0, 3000}, {0, 3000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  save(path("pipe"), text);
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  sigaction(SIGALRM, &old, nullptr);
  reader.join();
  EXPECT_GT(alarms.load(), 3);
  EXPECT_TRUE(received == text);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(entries(), 1);
}

TEST_F(AtomicFileTest, WaitingForAReaderCanBeGivenUp) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  struct sigaction action {};
  action.sa_handler = [](int) { request_stop(); };
  struct sigaction old {};
  sigaction(SIGALRM, &action, &old);
  const itimerval timer{{0, 10000}, {0, 10000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  try {
    AtomicFile file(path("pipe"));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
  const itimerval off{};
  setitimer(ITIMER_REAL, &off, nullptr);
  sigaction(SIGALRM, &old, nullptr);
  clear_stop();
}

TEST_F(AtomicFileTest, ConcurrentWritersLeaveOneWholeFile) {
  std::vector<std::thread> writers;
  for (int w = 0; w < 8; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 10; ++i) save(path("a"), std::string(100000, static_cast<char>('a' + w)));
    });
  }
  for (auto& writer : writers) writer.join();
  const std::string text = content(path("a"));
  EXPECT_EQ(text, std::string(100000, text.at(0)));
  EXPECT_EQ(entries(), 1);
}

}  // namespace
}  // namespace mercer
