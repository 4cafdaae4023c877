// Compiled kernels by key: each is made once and shared.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace sectile::backend {

// Thread-safe. Different keys are made at the same time; for the same key one thread works and the others wait.
template <class Key, class T>
class MadeOnce {
 public:
  struct Got {
    std::shared_ptr<const T> value;
    bool made = false;  // by this call
  };

  // `make` returns a Result<std::shared_ptr<const T>>. If it fails, the next caller tries again.
  template <class Make>
  Result<Got> get(const Key& key, const Make& make) {
    std::shared_ptr<Slot> slot;
    {
      const std::scoped_lock lock(mutex_);
      auto& place = slots_[key];
      if (!place) place = std::make_shared<Slot>();
      slot = place;
    }
    const std::scoped_lock lock(slot->making);
    if (slot->value) return Got{slot->value, false};
    Result<std::shared_ptr<const T>> made = make();
    if (!made) return std::unexpected(made.error());
    slot->value = std::move(*made);
    return Got{slot->value, true};
  }

  // Null where it is not made. Where another thread makes it now, this waits.
  std::shared_ptr<const T> find(const Key& key) {
    std::shared_ptr<Slot> slot;
    {
      const std::scoped_lock lock(mutex_);
      const auto found = slots_.find(key);
      if (found == slots_.end()) return nullptr;
      slot = found->second;
    }
    const std::scoped_lock lock(slot->making);
    return slot->value;
  }

  // Removes entries without another owner, and calls `destroy` on each. Returns their number, without those never
  // made.
  template <class Destroy>
  std::size_t trim(const Destroy& destroy) {
    const std::scoped_lock lock(mutex_);
    std::size_t destroyed = 0;
    // No thread uses a slot that only the map holds, and none can get it while we hold the lock.
    std::erase_if(slots_, [&](const auto& entry) {
      const auto& slot = entry.second;
      if (slot.use_count() > 1 || slot->value.use_count() > 1) return false;
      if (slot->value == nullptr) return true;
      destroy(*slot->value);
      ++destroyed;
      return true;
    });
    return destroyed;
  }

  // For destructors: no other thread may use it.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const auto& [key, slot] : slots_)
      if (slot->value) visit(*slot->value);
  }

 private:
  struct Slot {
    std::mutex making;
    std::shared_ptr<const T> value;  // null until made; guarded by `making`
  };
  std::mutex mutex_;  // guards the map; never held while making
  std::map<Key, std::shared_ptr<Slot>> slots_;
};

}  // namespace sectile::backend
