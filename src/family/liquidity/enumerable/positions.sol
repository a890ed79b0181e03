// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {Positions} from '../positions.sol';
import {PriceSources} from '../../../finance/price/prices.sol';

interface IManager {
    function balanceOf(address) external view returns (uint256);
    function tokenOfOwnerByIndex(address, uint256) external view returns (uint256);
    function ownerOf(uint256) external view returns (address);
    function positions(uint256) external view;
}

interface IPool {
    function slot0() external view;
    function feeGrowthGlobal0X128() external view returns (uint256);
    function feeGrowthGlobal1X128() external view returns (uint256);
    function ticks(int24) external view;
    function positions(bytes32) external view;
}

/// Reads positions of managers that enumerate those of a wallet, as Uniswap V3's does, with their pools, tokens and USD prices in one `eth_call`. It is never deployed: its
/// code stands at an address for the length of one call, or runs as the creation code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header    u8 version = 1, u64 chain id, u64 block number, u64 block timestamp, bytes32 hash of the parent block,
///             u32 list entries taken, u16 number of rows, then for each: u8 1 if it answered, 2 if a custodian
///             has no code, else 0, u32 balance
///   1 token   as in `positions.sol`
///   2 pool    u16 manager, address, u16 token0, u16 token1, u24 fee, u160 sqrtPriceX96, i24 tick,
///             u256 feeGrowthGlobal0X128, u256 feeGrowthGlobal1X128
///   3 broken  u16 row, u256 token id (0 where unknown), u8 what failed: 1 id, 2 position, 3 pool, 4 tick, 5 owner,
///             6 reward
///   4 open    u16 row, u256 token id, address owner, u16 pool, i24 tickLower, i24 tickUpper, u256
///             feeGrowthInside0LastX128, u256 feeGrowthInside1LastX128, u128 tokensOwed0, u128 tokensOwed1,
///             then what the pool owes the manager for that range and all its ids: u128 liquidity, u256
///             feeGrowthInside0LastX128, u256 feeGrowthInside1LastX128, u128 tokensOwed0, u128 tokensOwed1, all zero where
///             the pool tells nothing or nothing is owed; u128 liquidity, then feeGrowthOutside0X128,
///             feeGrowthOutside1X128 of the lower and of the upper tick
///   5 closed  like 4 up to the pool's tokensOwed1: no liquidity, no use for the ticks
///   6 brief   u16 row, u256 token id, u16 pool, u128 liquidity: all that a list says of positions that are not shown
///   7 reward  u16 token, u8 number of words, then each: u256. Of the next position
///   8 extra   u8 number of words, then each: u256. Of the pool before
///   9 found   u8 registry, u32 number, address custodian, u16 row of its manager: a custodian that was not known
///   10 registry  u8 registry, u8 state: 0 it does not answer, 1 nothing follows, 2 more follows, 3 it has no code, u8
///             whether its last known entry is the same: 0 no, 1 yes, 2 it is not there, u32 entries that are known now,
///             address of the last of them
///
/// A row is a manager with its factory, or a custodian of a manager's positions with that manager in place of a factory,
/// where an exchange has custodians (`custodied.sol`); custodians come after all managers.
///
/// Tokens and pools are numbered as in `positions.sol`. A page ends early, and says so by `taken`, before gas or `bytesMax`
/// could run out in the middle of a record.
abstract contract EnumerablePositions is Positions {
    uint256 private constant LISTED_MAX = 4096;

    struct Deployments {
        address[] managers;
        address[] factories;
    }

    /// A row of the deployments.
    struct Row {
        uint256 index;
        /// That of the manager whose positions it enumerates: the same, unless it is a custodian's.
        uint256 managerIndex;
        /// What enumerates them.
        address holder;
        address manager;
        address factory;
    }

    /// What the page has met so far.
    struct Seen {
        /// The row of the entry.
        Row row;
        /// Positions with liquidity, and without, that are still written whole; the others are briefs.
        uint256 openLeft;
        uint256 closedLeft;
        /// The answer of `positions`.
        uint256 state;
        Numbers numbers;
        /// Pool addresses by number; 0 if the pool is unreadable.
        uint256 poolList;
        /// What only this exchange's lens is asked about, as it keeps it.
        uint256 asked;
    }

    /// The factory's function that returns the pool of two tokens and the fifth word of a position.
    function poolSelector() internal pure virtual returns (bytes4);

    /// The first of the two words of a pool's `ticks` that are fee growth outside a tick.
    function outsideWord() internal pure virtual returns (uint256) {
        return 2;
    }

    /// The row of the manager whose positions a row enumerates: the row itself, unless it is a custodian's.
    function managerRow(Deployments calldata, uint256 row) internal view virtual returns (uint256) {
        return row;
    }

    /// The functions by which a row's contract enumerates the ids of a wallet.
    function countSelector(Row memory) internal pure virtual returns (bytes4) {
        return IManager.balanceOf.selector;
    }

    function itemSelector(Row memory) internal pure virtual returns (bytes4) {
        return IManager.tokenOfOwnerByIndex.selector;
    }

    /// What there must be for one more position of the deployments.
    function limit(Deployments calldata, uint256 bytesMax) internal view virtual returns (Limits memory) {
        return computeLimits(bytesMax);
    }

    /// Writes what only this exchange's pools have, by `putWords`, behind the pool's own record.
    function extra(Page memory, address) internal view virtual {}

    /// Writes what a custodian pays for a position, by its pool and id, before the position's own record (`putReward`);
    /// false if it does not answer.
    function rewards(
        Page memory,
        Seen memory,
        PriceSources calldata,
        address,
        address,
        uint256
    ) internal view virtual returns (bool) {
        return true;
    }

    /// Whether an id that a row's contract enumerates for a wallet is that wallet's.
    function isOwned(Page memory, Row memory, uint256, address) internal view virtual returns (bool) {
        return true;
    }

    /// Writes what only this exchange has, between the header and the entries of a list.
    function preface(Page memory, Seen memory, Deployments calldata) internal view virtual {}

    /// The row that has an id of a manager's, and who can withdraw it; `owner` is the one that the manager names. The
    /// answer of `positions` about the id stands at `seen.state`.
    function findHolder(
        Page memory,
        Seen memory,
        Deployments calldata,
        uint256 row,
        uint256,
        address owner
    ) internal view virtual returns (uint256, address) {
        return (row, owner);
    }

    /// Entries `offset` to `offset + count` of the wallet's list over all managers, in the order of enumeration. Of each row
    /// the first `firstMax` with liquidity, and as many without, are written whole. The others are briefs: what is needed to
    /// count and order them, and to tell spam.
    function list(
        address wallet,
        Deployments calldata deployments,
        PriceSources calldata prices,
        uint256 offset,
        uint256 count,
        uint256 bytesMax,
        uint256 firstMax
    ) external view {
        (Page memory page, Seen memory seen) = open();
        entries(page, seen, wallet, deployments, prices, offset, count, bytesMax, firstMax);
    }

    function entries(
        Page memory page,
        Seen memory seen,
        address wallet,
        Deployments calldata deployments,
        PriceSources calldata prices,
        uint256 offset,
        uint256 count,
        uint256 bytesMax,
        uint256 firstMax
    ) internal view {
        if (count > LISTED_MAX) count = LISTED_MAX;
        Limits memory limits = limit(deployments, bytesMax);
        seen.numbers.gasDue = limits.gasDue;
        header(page, deployments.managers.length);
        uint256 balancesAt = page.cursor;
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            choose(seen.row, deployments, i);
            bool ok = ask1(page, seen.row.holder, countSelector(seen.row), uint160(wallet), 32);
            mark(page, seen.row, ok);
            uint256 balance = ok ? word(page.answer) : 0;
            put(page, balance > type(uint32).max ? type(uint32).max : balance, 4);
        }
        preface(page, seen, deployments);
        page.checkpoint = page.cursor;
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            uint256 balance = uint32(word(balancesAt + i * 5) >> 216);
            if (offset >= balance) {
                offset -= balance;
                continue;
            }
            choose(seen.row, deployments, i);
            seen.openLeft = firstMax;
            seen.closedLeft = firstMax;
            for (; offset < balance && page.taken < count; offset++) {
                if (!room(page, seen.numbers, limits)) close(page);
                entry(page, seen, prices, wallet, offset);
                take(page);
            }
            offset = 0;
        }
        close(page);
    }

    /// Positions by row, a number into the deployments, and id, which is known to be the owner's; if the owner is 0, it
    /// is found.
    function some(
        address owner,
        uint256[] calldata indexes,
        uint256[] calldata ids,
        Deployments calldata deployments,
        PriceSources calldata prices,
        uint256 bytesMax
    ) external view {
        (Page memory page, Seen memory seen) = open();
        Limits memory limits = limit(deployments, bytesMax);
        seen.numbers.gasDue = limits.gasDue;
        presence(page, seen.row, deployments);
        page.checkpoint = page.cursor;
        for (uint256 i = 0; i < ids.length && i < POSITIONS_MAX; i++) {
            if (!room(page, seen.numbers, limits)) close(page);
            choose(seen.row, deployments, indexes[i]);
            if (owner != address(0)) known(page, seen, prices, ids[i], owner);
            else if (!readPosition(page, seen, ids[i])) broken(page, seen, ids[i], 2);
            else held(page, seen, deployments, prices, ids[i]);
            take(page);
        }
        close(page);
    }

    /// The position of that id on every manager that knows it; a manager that does not know it writes no record.
    function one(uint256 id, Deployments calldata deployments, PriceSources calldata prices) external view {
        (Page memory page, Seen memory seen) = open();
        seen.numbers.gasDue = limit(deployments, 0).gasDue;
        presence(page, seen.row, deployments);
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            choose(seen.row, deployments, i);
            if (seen.row.managerIndex != i || !readPosition(page, seen, id)) continue;
            page.taken++;
            held(page, seen, deployments, prices, id);
        }
        close(page);
    }

    function entry(
        Page memory page,
        Seen memory seen,
        PriceSources calldata prices,
        address wallet,
        uint256 offset
    ) private view {
        argument(page, 0, uint160(wallet));
        argument(page, 1, offset);
        if (!askMany(page, seen.row.holder, itemSelector(seen.row), 2, 32)) return broken(page, seen, 0, 1);
        uint256 id = word(page.answer);
        if (!isOwned(page, seen.row, id, wallet)) return broken(page, seen, id, 5);
        known(page, seen, prices, id, wallet);
    }

    function known(
        Page memory page,
        Seen memory seen,
        PriceSources calldata prices,
        uint256 id,
        address owner
    ) private view {
        if (!readPosition(page, seen, id)) return broken(page, seen, id, 2);
        position(page, seen, prices, id, owner);
    }

    /// Writes the position whose `positions` answer stands at `seen.state`, of whom has it.
    function held(
        Page memory page,
        Seen memory seen,
        Deployments calldata deployments,
        PriceSources calldata prices,
        uint256 id
    ) private view {
        if (!ask1(page, seen.row.manager, IManager.ownerOf.selector, id, 32)) return broken(page, seen, id, 5);
        address owner = address(uint160(word(page.answer)));
        uint256 row;
        (row, owner) = findHolder(page, seen, deployments, seen.row.index, id, owner);
        choose(seen.row, deployments, row);
        position(page, seen, prices, id, owner);
    }

    function readPosition(Page memory page, Seen memory seen, uint256 id) private view returns (bool ok) {
        uint256 answer = page.answer;
        page.answer = seen.state;
        ok = ask1(page, seen.row.manager, IManager.positions.selector, id, 384);
        page.answer = answer;
    }

    /// Writes the records of the position whose `positions` answer stands at `seen.state`.
    function position(
        Page memory page,
        Seen memory seen,
        PriceSources calldata prices,
        uint256 id,
        address owner
    ) private view {
        uint256 state = seen.state;
        uint256 index = seen.row.index;
        (uint256 poolOrdinal, address pool) = poolOf(page, seen, prices);
        if (pool == address(0)) return broken(page, seen, id, 3);
        uint256 liquidity = word(state + 224);
        if ((liquidity > 0 ? seen.openLeft : seen.closedLeft) == 0) {
            put(page, 6, 1);
            put(page, index, 2);
            put(page, id, 32);
            put(page, poolOrdinal, 2);
            return put(page, liquidity, 16);
        }
        if (liquidity > 0) seen.openLeft--;
        else seen.closedLeft--;
        if (isCustodian(seen.row) && !rewards(page, seen, prices, seen.row.holder, pool, id)) {
            return broken(page, seen, id, 6);
        }
        uint256 answer = page.answer;
        if (liquidity > 0) {
            bool ok = readTick(page, pool, word(state + 160));
            page.answer = answer + 64;
            ok = ok && readTick(page, pool, word(state + 192));
            page.answer = answer;
            if (!ok) return broken(page, seen, id, 4);
        }
        put(page, liquidity > 0 ? 4 : 5, 1);
        put(page, index, 2);
        put(page, id, 32);
        put(page, uint160(owner), 20);
        put(page, poolOrdinal, 2);
        put(page, word(state + 160), 3);
        put(page, word(state + 192), 3);
        put(page, word(state + 256), 32);
        put(page, word(state + 288), 32);
        put(page, word(state + 320), 16);
        put(page, word(state + 352), 16);
        share(page, seen.row.manager, pool, state);
        if (liquidity == 0) return;
        put(page, liquidity, 16);
        for (uint256 i = 0; i < 4; i++) {
            put(page, word(answer + i * 32), 32);
        }
    }

    /// Reads fee growth outside a tick into the first two words of the answer.
    function readTick(Page memory page, address pool, uint256 tick) private view returns (bool ok) {
        uint256 first = outsideWord() * 32;
        ok = ask1(page, pool, IPool.ticks.selector, tick, first + 64);
        set(page.answer, word(page.answer + first));
        set(page.answer + 32, word(page.answer + first + 32));
    }

    /// Writes the pool's own position of the manager in the range, which all ids of that range share. Behind what both
    /// ticks answered.
    function share(Page memory page, address manager, address pool, uint256 state) private view {
        uint256 answer = page.answer + 128;
        uint256 key;
        assembly ("memory-safe") {
            mstore(0, shl(96, manager))
            mstore(20, shl(232, mload(add(state, 160))))
            mstore(23, shl(232, mload(add(state, 192))))
            key := keccak256(0, 26)
        }
        bool ok = word(state + 224) > 0 || word(state + 320) > 0 || word(state + 352) > 0;
        if (ok) {
            page.answer = answer;
            ok = ask1(page, pool, IPool.positions.selector, key, 160);
            page.answer = answer - 128;
        }
        for (uint256 i = 0; i < 5; i++) {
            put(page, ok ? word(answer + i * 32) : 0, i == 1 || i == 2 ? 32 : 16);
        }
    }

    function poolOf(
        Page memory page,
        Seen memory seen,
        PriceSources calldata prices
    ) private view returns (uint256 ordinal, address pool) {
        uint256 state = seen.state;
        uint256 index = seen.row.managerIndex;
        uint256 key;
        uint256 question = page.question;
        assembly ("memory-safe") {
            mstore(question, index)
            mstore(add(question, 32), mload(add(state, 64)))
            mstore(add(question, 64), mload(add(state, 96)))
            mstore(add(question, 96), mload(add(state, 128)))
            key := shr(16, keccak256(question, 128))
        }
        uint256 slot;
        (slot, ordinal) = poolSlot(seen.numbers, key);
        if (ordinal > 0) return (ordinal - 1, address(uint160(word(seen.poolList + (ordinal - 1) * 32))));
        uint256 token0 = word(state + 64);
        uint256 token1 = word(state + 96);
        uint256 fee = word(state + 128);
        argument(page, 0, token0);
        argument(page, 1, token1);
        argument(page, 2, fee);
        if (!askMany(page, seen.row.factory, poolSelector(), 3, 32)) return (0, address(0));
        pool = address(uint160(word(page.answer)));
        uint256 answer = page.answer;
        bool ok = pool != address(0) && ask(page, pool, IPool.slot0.selector, 64);
        page.answer = answer + 64;
        ok = ok && ask(page, pool, IPool.feeGrowthGlobal0X128.selector, 32);
        page.answer = answer + 96;
        ok = ok && ask(page, pool, IPool.feeGrowthGlobal1X128.selector, 32);
        page.answer = answer + 128;
        if (!ok) {
            page.answer = answer;
            return (0, address(0));
        }
        uint256 ordinal0 = tokenOf(page, seen.numbers, prices, address(uint160(token0)));
        uint256 ordinal1 = tokenOf(page, seen.numbers, prices, address(uint160(token1)));
        page.answer = answer;
        ordinal = addPool(seen.numbers, slot, key);
        set(seen.poolList + ordinal * 32, uint160(pool));
        put(page, 2, 1);
        put(page, index, 2);
        put(page, uint160(pool), 20);
        put(page, ordinal0, 2);
        put(page, ordinal1, 2);
        put(page, fee, 3);
        put(page, word(answer), 20);
        put(page, word(answer + 32), 3);
        put(page, word(answer + 64), 32);
        put(page, word(answer + 96), 32);
        extra(page, pool);
    }

    /// Begins a record `extra`, whose words follow, each of 32 bytes. The stream grows at the end of memory, so nothing may be
    /// allocated.
    function putWords(Page memory page, uint256 count) internal pure {
        put(page, 8, 1);
        put(page, count, 1);
    }

    function broken(Page memory page, Seen memory seen, uint256 id, uint256 what) private pure {
        put(page, 3, 1);
        put(page, seen.row.index, 2);
        put(page, id, 32);
        put(page, what, 1);
    }

    function choose(Row memory row, Deployments calldata deployments, uint256 index) private view {
        uint256 manager = managerRow(deployments, index);
        row.index = index;
        row.managerIndex = manager;
        row.holder = deployments.managers[index];
        row.manager = deployments.managers[manager];
        row.factory = deployments.factories[manager];
    }

    function isCustodian(Row memory row) internal pure returns (bool) {
        return row.index != row.managerIndex;
    }

    /// Counts an entry whose records are written.
    function take(Page memory page) private pure {
        page.taken++;
        page.checkpoint = page.cursor;
    }

    /// Writes whether a row's contract answered. A custodian without code holds nothing yet.
    function mark(Page memory page, Row memory row, bool ok) private view {
        put(page, isCustodian(row) && row.holder.code.length == 0 ? 2 : ok ? 1 : 0, 1);
    }

    function header(Page memory page, uint256 managerCount) private view {
        begin(page);
        put(page, managerCount, 2);
    }

    /// The header of readings that count nothing.
    function presence(Page memory page, Row memory row, Deployments calldata deployments) private view {
        header(page, deployments.managers.length);
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            choose(row, deployments, i);
            mark(page, row, row.holder.code.length > 0);
            put(page, 0, 4);
        }
    }

    function open() internal pure returns (Page memory page, Seen memory seen) {
        page.question = reserve(160);
        page.answer = reserve(1024);
        seen.state = reserve(384);
        seen.openLeft = type(uint256).max;
        seen.closedLeft = type(uint256).max;
        seen.numbers = openNumbers(POOLS_MAX);
        seen.poolList = reserve(POOLS_MAX * 32);
    }
}
