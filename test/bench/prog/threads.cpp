/* SPDX-License-Identifier: MIT */
/*
 * Three threads with maps, strings and vectors of their own, which hand results to a fourth through a queue: C++ as servers
 * are written.  The queue is bounded, so that the program's memory does not depend on who is faster.
 */
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Result {
	std::string name;
	std::vector<int> places;
};

class Queue
{
	static constexpr std::size_t capacity = 256;
	std::mutex mutex;
	std::condition_variable changed, room;
	std::deque<std::unique_ptr<Result>> results;
	unsigned writers;

      public:
	explicit Queue(unsigned count) : writers(count)
	{
	}
	void put(std::unique_ptr<Result> result)
	{
		std::unique_lock<std::mutex> hold(mutex);
		room.wait(hold, [this] { return results.size() < capacity; });
		results.push_back(std::move(result));
		changed.notify_one();
	}
	void done()
	{
		std::lock_guard<std::mutex> hold(mutex);
		writers--;
		changed.notify_all();
	}
	std::unique_ptr<Result> take()
	{
		std::unique_lock<std::mutex> hold(mutex);
		changed.wait(hold, [this] { return !results.empty() || writers == 0; });
		if (results.empty())
			return nullptr;
		auto result = std::move(results.front());
		results.pop_front();
		room.notify_one();
		return result;
	}
};

static void work(Queue &queue, int seed)
{
	for (int turn = 0; turn < 150; turn++) {
		std::unordered_map<std::string, std::vector<int>> index;
		for (int i = 0; i < 3000; i++)
			index["a rather long name " + std::to_string((i * 31 + seed) % 977)]
				.push_back(i);
		std::map<std::size_t, std::string> by_size;
		for (const auto &[name, places] : index)
			by_size[places.size() * 1000 + name.size()] = name;
		for (auto &[name, places] : index)
			queue.put(std::make_unique<Result>(Result{ name, std::move(places) }));
	}
	queue.done();
}

static std::size_t collect(Queue &queue)
{
	std::map<std::string, std::size_t> sum;
	while (auto result = queue.take())
		sum[result->name] += result->places.size();
	std::size_t total = 0;
	for (const auto &entry : sum)
		total += entry.second;
	return total;
}

int main()
{
	Queue queue(3);
	std::vector<std::thread> writers;
	for (int i = 0; i < 3; i++)
		writers.emplace_back(work, std::ref(queue), i);
	std::size_t total = collect(queue);
	for (auto &writer : writers)
		writer.join();
	std::cout << total << "\n";
}
