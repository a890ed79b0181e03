// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

interface IManager {
    function balanceOf(address) external view returns (uint256);
    function tokenOfOwnerByIndex(address, uint256) external view returns (uint256);
    function ownerOf(uint256) external view returns (address);
    function positions(uint256) external view;
}

interface IFactory {
    function getPool(address, address, uint24) external view returns (address);
}

interface IPool {
    function slot0() external view;
    function feeGrowthGlobal0X128() external view returns (uint256);
    function feeGrowthGlobal1X128() external view returns (uint256);
    function ticks(int24) external view;
}

interface IToken {
    function symbol() external view;
    function name() external view;
    function decimals() external view;
}

interface IFeed {
    function latestRoundData() external view;
}

interface IArbSys {
    function arbBlockNumber() external view returns (uint256);
    function arbBlockHash(uint256) external view returns (bytes32);
}

/// Reads Uniswap-V3-style positions, their pools, tokens and USD feeds in one `eth_call`. It is never deployed: its
/// code stands at an address for the length of one call, or runs as the creation code of one.
///
/// The answer is a packed stream, big-endian, without padding; `abi.ts` decodes it.
///
///   header    u8 version = 1, u64 chain id, u64 block number, u64 block timestamp, bytes32 hash of the parent block,
///             u32 list entries taken, u8 number of managers, then for each: u8 1 if it answered, u32 balance
///   1 token   address, u8 1 if `decimals` answered a uint8, u8 decimals, text symbol, text name
///   2 pool    u8 manager, address, u16 token0, u16 token1, u24 fee, u160 sqrtPriceX96, i24 tick,
///             u256 feeGrowthGlobal0X128, u256 feeGrowthGlobal1X128
///   3 broken  u8 manager, u256 token id (0 where unknown), u8 what failed: 1 id, 2 position, 3 pool, 4 tick, 5 owner
///   4 open    u8 manager, u256 token id, address owner, u16 pool, i24 tickLower, i24 tickUpper, u256
///             feeGrowthInside0LastX128, u256 feeGrowthInside1LastX128, u128 tokensOwed0, u128 tokensOwed1,
///             u128 liquidity, then feeGrowthOutside0X128, feeGrowthOutside1X128 of the lower and of the upper tick
///   5 closed  like 4 up to tokensOwed1: no liquidity, no use for the ticks
///   6 price   u16 token, u8 1 if the feed answered, i256 answer, u64 updatedAt, u8 decimals
///
/// A text is u16 length and the first bytes of the raw return data, length 65535 where the call failed or answered
/// more than 16 KiB. Tokens and pools are numbered in order of appearance, from 0, and appear before their first use.
///
/// Nothing that a token does can break the list: its calls have a gas cap, and of their answers only so much is
/// copied. A page ends early, and says so by `taken`, before gas or `bytesMax` could run out in the middle of a record.
contract Lens {
    uint256 private constant POSITIONS_MAX = 512;
    /// Power of two, at least twice the tokens that a page can hold.
    uint256 private constant SLOTS = 2048;
    uint256 private constant CONTRACT_GAS = 400_000;
    uint256 private constant TOKEN_GAS = 100_000;
    uint256 private constant FEED_GAS = 100_000;
    uint256 private constant FEED_DECIMALS_GAS = 30_000;
    /// What one position with a new pool and two new hostile tokens can burn.
    uint256 private constant POSITION_GAS = 1_200_000;
    uint256 private constant TEXT_BYTES_MAX = 320;
    uint256 private constant TEXT_ANSWER_BYTES_MAX = 16_384;
    uint256 private constant TEXT_MISSING = 65_535;
    /// The longest records that one position can cause, and one feed.
    uint256 private constant POSITION_BYTES_MAX = 1_900;
    uint256 private constant FEED_BYTES = 45;

    struct Deployments {
        address[] managers;
        address[] factories;
    }

    struct Feeds {
        address[] tokens;
        address[] feeds;
    }

    struct Page {
        uint256 start;
        uint256 cursor;
        /// Arguments of the next call, room for a selector and three words.
        uint256 question;
        /// The answer of `positions`.
        uint256 state;
        /// Every other answer.
        uint256 answer;
        uint256 tokenTable;
        uint256 tokenCount;
        uint256 poolTable;
        uint256 poolCount;
        /// Pool addresses by number; 0 where the pool is unreadable.
        uint256 poolList;
    }

    /// Entries `offset` to `offset + count` of the wallet's list over all managers, in the order of enumeration.
    function list(
        address wallet,
        Deployments calldata deployments,
        Feeds calldata feeds,
        uint256 offset,
        uint256 count,
        uint256 bytesMax
    ) external view {
        Page memory page = open();
        if (count > POSITIONS_MAX) count = POSITIONS_MAX;
        uint256 takenAt = header(page, deployments.managers.length);
        uint256 balancesAt = page.cursor;
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            bool ok = ask1(page, deployments.managers[i], IManager.balanceOf.selector, uint160(wallet), 32);
            put(page, ok ? 1 : 0, 1);
            uint256 balance = ok ? word(page.answer) : 0;
            put(page, balance > type(uint32).max ? type(uint32).max : balance, 4);
        }
        uint256 taken = 0;
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            uint256 balance = uint32(word(balancesAt + i * 5) >> 216);
            if (offset >= balance) {
                offset -= balance;
                continue;
            }
            for (; offset < balance && taken < count; offset++) {
                if (!room(page, feeds.feeds.length, bytesMax)) {
                    finish(page, takenAt, taken, feeds);
                }
                entry(page, deployments, i, wallet, offset);
                taken++;
            }
            offset = 0;
        }
        finish(page, takenAt, taken, feeds);
    }

    /// The position of that id on every manager that knows it; a manager that does not know it writes no record.
    function one(uint256 id, Deployments calldata deployments, Feeds calldata feeds) external view {
        Page memory page = open();
        uint256 takenAt = header(page, deployments.managers.length);
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            put(page, deployments.managers[i].code.length > 0 ? 1 : 0, 1);
            put(page, 0, 4);
        }
        uint256 taken = 0;
        for (uint256 i = 0; i < deployments.managers.length; i++) {
            address manager = deployments.managers[i];
            if (!readPosition(page, manager, id)) continue;
            taken++;
            if (!ask1(page, manager, IManager.ownerOf.selector, id, 32)) {
                broken(page, i, id, 5);
                continue;
            }
            address owner = address(uint160(word(page.answer)));
            position(page, i, deployments.factories[i], id, owner);
        }
        finish(page, takenAt, taken, feeds);
    }

    function entry(
        Page memory page,
        Deployments calldata deployments,
        uint256 index,
        address wallet,
        uint256 offset
    ) private view {
        address manager = deployments.managers[index];
        if (!ask2(page, manager, IManager.tokenOfOwnerByIndex.selector, uint160(wallet), offset, 32)) {
            return broken(page, index, 0, 1);
        }
        uint256 id = word(page.answer);
        if (!readPosition(page, manager, id)) return broken(page, index, id, 2);
        position(page, index, deployments.factories[index], id, wallet);
    }

    function readPosition(Page memory page, address manager, uint256 id) private view returns (bool ok) {
        uint256 answer = page.answer;
        page.answer = page.state;
        ok = ask1(page, manager, IManager.positions.selector, id, 384);
        page.answer = answer;
    }

    /// Writes the records of the position whose `positions` answer stands at `page.state`.
    function position(Page memory page, uint256 index, address factory, uint256 id, address owner) private view {
        uint256 state = page.state;
        (uint256 poolOrdinal, address pool) = poolOf(page, index, factory, state);
        if (pool == address(0)) return broken(page, index, id, 3);
        uint256 liquidity = word(state + 224);
        uint256 answer = page.answer;
        if (liquidity > 0) {
            if (!ask1(page, pool, IPool.ticks.selector, word(state + 160), 128)) return broken(page, index, id, 4);
            page.answer = answer + 128;
            bool ok = ask1(page, pool, IPool.ticks.selector, word(state + 192), 128);
            page.answer = answer;
            if (!ok) return broken(page, index, id, 4);
        }
        put(page, liquidity > 0 ? 4 : 5, 1);
        put(page, index, 1);
        put(page, id, 32);
        put(page, uint160(owner), 20);
        put(page, poolOrdinal, 2);
        put(page, word(state + 160), 3);
        put(page, word(state + 192), 3);
        put(page, word(state + 256), 32);
        put(page, word(state + 288), 32);
        put(page, word(state + 320), 16);
        put(page, word(state + 352), 16);
        if (liquidity == 0) return;
        put(page, liquidity, 16);
        put(page, word(answer + 64), 32);
        put(page, word(answer + 96), 32);
        put(page, word(answer + 192), 32);
        put(page, word(answer + 224), 32);
    }

    function poolOf(
        Page memory page,
        uint256 index,
        address factory,
        uint256 state
    ) private view returns (uint256 ordinal, address pool) {
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
        (slot, ordinal) = find(page.poolTable, key);
        if (ordinal > 0) return (ordinal - 1, address(uint160(word(page.poolList + (ordinal - 1) * 32))));
        uint256 token0 = word(state + 64);
        uint256 token1 = word(state + 96);
        uint256 fee = word(state + 128);
        if (!askPool(page, factory, token0, token1, fee)) return (0, address(0));
        pool = address(uint160(word(page.answer)));
        uint256 answer = page.answer;
        bool ok = pool != address(0) && ask(page, pool, IPool.slot0.selector, 4, 64);
        page.answer = answer + 64;
        ok = ok && ask(page, pool, IPool.feeGrowthGlobal0X128.selector, 4, 32);
        page.answer = answer + 96;
        ok = ok && ask(page, pool, IPool.feeGrowthGlobal1X128.selector, 4, 32);
        page.answer = answer + 128;
        if (!ok) {
            page.answer = answer;
            return (0, address(0));
        }
        uint256 ordinal0 = tokenOf(page, address(uint160(token0)));
        uint256 ordinal1 = tokenOf(page, address(uint160(token1)));
        page.answer = answer;
        ordinal = page.poolCount;
        page.poolCount = ordinal + 1;
        uint256 place = page.poolList + ordinal * 32;
        assembly ("memory-safe") {
            mstore(slot, or(shl(16, key), add(ordinal, 1)))
            mstore(place, pool)
        }
        put(page, 2, 1);
        put(page, index, 1);
        put(page, uint160(pool), 20);
        put(page, ordinal0, 2);
        put(page, ordinal1, 2);
        put(page, fee, 3);
        put(page, word(answer), 20);
        put(page, word(answer + 32), 3);
        put(page, word(answer + 64), 32);
        put(page, word(answer + 96), 32);
    }

    function tokenOf(Page memory page, address token) private view returns (uint256 ordinal) {
        uint256 slot;
        (slot, ordinal) = find(page.tokenTable, uint160(token));
        if (ordinal > 0) return ordinal - 1;
        ordinal = page.tokenCount;
        page.tokenCount = ordinal + 1;
        assembly ("memory-safe") {
            mstore(slot, or(shl(16, token), add(ordinal, 1)))
        }
        put(page, 1, 1);
        put(page, uint160(token), 20);
        (bool ok, uint256 size) = askFor(page, token, IToken.decimals.selector, 4, TOKEN_GAS, 32);
        ok = ok && size >= 32 && word(page.answer) < 256;
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? word(page.answer) : 0, 1);
        text(page, token, IToken.symbol.selector);
        text(page, token, IToken.name.selector);
    }

    function text(Page memory page, address token, bytes4 selector) private view {
        (bool ok, uint256 size) = askFor(page, token, selector, 4, TOKEN_GAS, TEXT_BYTES_MAX);
        if (!ok || size > TEXT_ANSWER_BYTES_MAX) return put(page, TEXT_MISSING, 2);
        if (size > TEXT_BYTES_MAX) size = TEXT_BYTES_MAX;
        put(page, size, 2);
        uint256 end = page.cursor + size;
        for (uint256 i = 0; i < size; i += 32) put(page, word(page.answer + i), 32);
        page.cursor = end;
    }

    function price(Page memory page, address token, address feed) private view {
        (, uint256 ordinal) = find(page.tokenTable, uint160(token));
        if (ordinal == 0) return;
        put(page, 6, 1);
        put(page, ordinal - 1, 2);
        uint256 answer = page.answer;
        (bool ok, uint256 size) = askFor(page, feed, IFeed.latestRoundData.selector, 4, FEED_GAS, 160);
        ok = ok && size >= 160;
        page.answer = answer + 160;
        if (ok) {
            (ok, size) = askFor(page, feed, IToken.decimals.selector, 4, FEED_DECIMALS_GAS, 32);
            ok = ok && size >= 32 && word(page.answer) < 256 && word(answer + 96) < 1 << 64;
        }
        page.answer = answer;
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? word(answer + 32) : 0, 32);
        put(page, ok ? word(answer + 96) : 0, 8);
        put(page, ok ? word(answer + 160) : 0, 1);
    }

    function broken(Page memory page, uint256 index, uint256 id, uint256 what) private pure {
        put(page, 3, 1);
        put(page, index, 1);
        put(page, id, 32);
        put(page, what, 1);
    }

    /// Whether gas and bytes suffice for one more position and all feeds that it could call for.
    function room(Page memory page, uint256 feedCount, uint256 bytesMax) private view returns (bool) {
        uint256 feedsDue = page.tokenCount + 2 < feedCount ? page.tokenCount + 2 : feedCount;
        if (gasleft() < POSITION_GAS + feedsDue * (FEED_GAS + FEED_DECIMALS_GAS)) return false;
        return page.cursor - page.start + POSITION_BYTES_MAX + feedsDue * FEED_BYTES <= bytesMax;
    }

    function header(Page memory page, uint256 managerCount) private view returns (uint256 takenAt) {
        (uint256 number, bytes32 parentHash) = block_(page);
        put(page, 1, 1);
        put(page, block.chainid, 8);
        put(page, number, 8);
        put(page, block.timestamp, 8);
        put(page, uint256(parentHash), 32);
        takenAt = page.cursor;
        put(page, 0, 4);
        put(page, managerCount, 1);
    }

    /// On Arbitrum the NUMBER opcode answers the height of Ethereum; its own height is at the system contract.
    function block_(Page memory page) private view returns (uint256 number, bytes32 parentHash) {
        (bool ok, uint256 size) = askFor(page, address(100), IArbSys.arbBlockNumber.selector, 4, TOKEN_GAS, 32);
        if (!ok || size != 32) return (block.number, blockhash(block.number - 1));
        number = word(page.answer);
        ok = ask1(page, address(100), IArbSys.arbBlockHash.selector, number - 1, 32);
        parentHash = ok ? bytes32(word(page.answer)) : bytes32(0);
    }

    /// Reserves all working memory, so that the answer can grow behind it: nothing may allocate after this.
    function open() private pure returns (Page memory page) {
        page.question = reserve(160);
        page.state = reserve(384);
        page.answer = reserve(512);
        page.tokenTable = reserve(SLOTS * 32);
        page.poolTable = reserve(SLOTS * 32);
        page.poolList = reserve(POSITIONS_MAX * 32);
        page.start = reserve(0);
        page.cursor = page.start;
    }

    function reserve(uint256 size) private pure returns (uint256 place) {
        assembly ("memory-safe") {
            place := mload(0x40)
            mstore(0x40, add(place, size))
        }
    }

    function finish(Page memory page, uint256 takenAt, uint256 taken, Feeds calldata feeds) private view {
        for (uint256 i = 0; i < feeds.feeds.length; i++) price(page, feeds.tokens[i], feeds.feeds[i]);
        uint256 start = page.start;
        uint256 end = page.cursor;
        assembly ("memory-safe") {
            let rest := and(mload(takenAt), shr(32, not(0)))
            mstore(takenAt, or(shl(224, taken), rest))
            return(start, sub(end, start))
        }
    }

    function ask1(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 a,
        uint256 sizeMin
    ) private view returns (bool) {
        argument(page, 4, a);
        return ask(page, target, selector, 36, sizeMin);
    }

    function ask2(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 a,
        uint256 b,
        uint256 sizeMin
    ) private view returns (bool) {
        argument(page, 4, a);
        argument(page, 36, b);
        return ask(page, target, selector, 68, sizeMin);
    }

    function askPool(
        Page memory page,
        address factory,
        uint256 token0,
        uint256 token1,
        uint256 fee
    ) private view returns (bool) {
        argument(page, 4, token0);
        argument(page, 36, token1);
        argument(page, 68, fee);
        return ask(page, factory, IFactory.getPool.selector, 100, 32);
    }

    function argument(Page memory page, uint256 offset, uint256 value) private pure {
        uint256 place = page.question + offset;
        assembly ("memory-safe") {
            mstore(place, value)
        }
    }

    /// A call to a contract of the exchange: true if it answered, with at least `sizeMin` bytes.
    function ask(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 questionSize,
        uint256 sizeMin
    ) private view returns (bool) {
        (bool ok, uint256 size) = askFor(page, target, selector, questionSize, CONTRACT_GAS, sizeMin);
        return ok && size >= sizeMin;
    }

    /// A call with a gas cap; at most `copyMax` bytes of the answer reach `page.answer`, `size` is its true length.
    function askFor(
        Page memory page,
        address target,
        bytes4 selector,
        uint256 questionSize,
        uint256 gasMax,
        uint256 copyMax
    ) private view returns (bool ok, uint256 size) {
        uint256 question = page.question;
        uint256 answer = page.answer;
        assembly ("memory-safe") {
            mstore(question, or(selector, and(mload(question), shr(32, not(0)))))
            ok := staticcall(gasMax, target, question, questionSize, answer, copyMax)
            size := returndatasize()
        }
    }

    function find(uint256 table, uint256 key) private pure returns (uint256 slot, uint256 ordinal) {
        assembly ("memory-safe") {
            mstore(0, key)
            let i := keccak256(0, 32)
            for {} 1 { i := add(i, 1) } {
                slot := add(table, mul(and(i, sub(SLOTS, 1)), 32))
                let value := mload(slot)
                if iszero(value) { break }
                if eq(shr(16, value), key) {
                    ordinal := and(value, 0xffff)
                    break
                }
            }
        }
    }

    function word(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(place)
        }
    }

    function put(Page memory page, uint256 value, uint256 size) private pure {
        assembly ("memory-safe") {
            let cursor := mload(add(page, 32))
            mstore(cursor, shl(sub(256, mul(8, size)), value))
            mstore(add(page, 32), add(cursor, size))
        }
    }
}
