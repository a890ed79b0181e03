// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Prices, PriceSources} from '../prices.sol';

interface IFactory {
    function getPool(address, address, uint24) external view;
}

interface IPool {
    function slot0() external view;
    function liquidity() external view;
    function observations(uint256) external view;
    function observe(uint32[] calldata) external view;
    function tickBitmap(int16) external view;
    function ticks(int24) external view;
}

interface IToken {
    function balanceOf(address) external view;
    function decimals() external view;
}

/// Reads the pools of Uniswap V3 that may price tokens, each call in one `eth_call`. It is never deployed: its code stands
/// at an address for the length of one call, or runs as the creation code of one. It only reads: `depth.ts` and `vote.ts`
/// do all arithmetic of the price.
///
/// Only the factory, its pools and the quote tokens are called, all of them named by configuration or made by the factory:
/// a token that is priced cannot take part. Answers are packed streams, big-endian, without padding; `abi.ts` decodes them.
///
/// `find`: which pools tokens have.
///
///   header    as in `page.sol`, where taken counts tokens, then for each quote token: u8 1 if `decimals` answered a uint8,
///             u8 decimals, its price as in `prices.sol`
///   token     for each initialised pool: u8 index of the quote token · 4 + tier, address, u160 square root of the price,
///             u128 liquidity, u128 quote tokens in it, u32 time of its newest observation, u32 of its oldest one; then
///             u8 255
///
/// `look`: what stands in pools.
///
///   header    as in `page.sol`, where taken counts pools
///   pool      u8 0 if it is not there or not initialised; else 1, u160 square root of the price, i24 tick, u128 liquidity,
///             u128 quote tokens in it, u8 number of observations, for each of them: i56 sum of ticks, u160 sum of seconds
///             per liquidity; the initialised ticks at or below the price, nearest first, then those above it
///   ticks     i24 tick, i128 net liquidity, for each of them; i24 0x7fffff; i24 the tick up to which they were read
///
/// A page ends early, and says so by `taken`, before gas could run out inside a call.
contract Lens is LensPage, Prices {
    uint256 private constant POOL_GAS = 50_000;
    uint256 private constant BALANCE_GAS = 150_000;
    /// Where a pool keeps most observations, it looks at 16 of them for each point.
    uint256 private constant OBSERVE_GAS = 2_000_000;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 250_000;
    /// 20 bytes of a pool, 20 of its quote token, u8 tier, plus 128 if the priced token is `token1`.
    uint256 private constant POOL_ROW = 41;
    /// Ticks of an oracle window: half the price, and 5 %.
    int256 private constant HALF_TICKS = 6932;
    int256 private constant NEAR_TICKS = 513;
    /// Initialised ticks that are read on either side; there is no depth beyond them.
    uint256 private constant SIDE_TICKS_MAX = 64;
    uint256 private constant LIST_END = 0x7fffff;
    uint256 private constant POINTS_MAX = 13;

    /// Finds the pools of tokens with quote tokens; both are packed, 20 bytes a row.
    function find(
        address factory,
        bytes calldata quotes,
        bytes calldata tokens,
        PriceSources calldata prices
    ) external view {
        Page memory page;
        page.question = reserve(160);
        page.answer = reserve(256);
        begin(page);
        for (uint256 i = 0; i < quotes.length / 20; i++) quoteOf(page, address(bytes20(quotes[i * 20:])), prices);
        page.checkpoint = page.cursor;
        for (uint256 i = 0; i < tokens.length / 20; i++) {
            address token = address(bytes20(tokens[i * 20:]));
            for (uint256 q = 0; q < quotes.length / 20; q++) {
                address quote = address(bytes20(quotes[q * 20:]));
                if (quote == token) continue;
                for (uint256 tier = 0; tier < 4; tier++) {
                    address pool = poolOf(page, factory, token, quote, tier);
                    if (pool != address(0)) describe(page, pool, quote, q * 4 + tier);
                }
            }
            put(page, 255, 1);
            page.checkpoint = page.cursor;
            page.taken = i + 1;
        }
        finish(page);
    }

    /// Reads pools, with the sums of their oracle now and, with more than one point, at equal steps back over the window.
    function look(bytes calldata rows, uint256 points, uint256 windowSec) external view {
        Page memory page;
        page.question = reserve(512);
        page.answer = reserve(1024);
        begin(page);
        page.checkpoint = page.cursor;
        for (uint256 i = 0; i < rows.length / POOL_ROW; i++) {
            readPool(page, rows[i * POOL_ROW:(i + 1) * POOL_ROW], points, windowSec);
            page.checkpoint = page.cursor;
            page.taken = i + 1;
        }
        finish(page);
    }

    /// Writes what is known of a quote token.
    function quoteOf(Page memory page, address quote, PriceSources calldata prices) private view {
        (bool ok, uint256 size) = askFor(page, quote, IToken.decimals.selector, 4, TEXT_GAS, 32);
        ok = ok && size >= 32 && word(page.answer) < 256;
        put(page, ok ? 1 : 0, 1);
        put(page, ok ? word(page.answer) : 0, 1);
        beforeCall(page, priceGasMax(prices));
        page.cursor = writePrice(prices, quote, page.cursor);
    }

    /// The pool that the factory has, zero without one or if it cannot be asked.
    function poolOf(
        Page memory page,
        address factory,
        address token,
        address quote,
        uint256 tier
    ) private view returns (address) {
        argument(page, 0, uint160(token));
        argument(page, 1, uint160(quote));
        // 100, 500, 3000, 10000: each in 16 bits.
        argument(page, 2, uint16(0x006401f40bb82710 >> (48 - tier * 16)));
        (bool ok, uint256 size) = askFor(page, factory, IFactory.getPool.selector, 100, POOL_GAS, 32);
        return ok && size >= 32 ? address(uint160(word(page.answer))) : address(0);
    }

    /// Writes what a pool is, unless it was never initialised.
    function describe(Page memory page, address pool, address quote, uint256 candidate) private view {
        (bool ok, uint256 size) = askFor(page, pool, IPool.slot0.selector, 4, POOL_GAS, 224);
        uint256 root = word(page.answer);
        if (!ok || size < 224 || root == 0) return;
        uint256 index = word(page.answer + 64);
        uint256 cardinality = word(page.answer + 96);
        put(page, candidate, 1);
        put(page, uint160(pool), 20);
        put(page, root, 20);
        put(page, liquidityOf(page, pool), 16);
        put(page, balanceIn(page, pool, quote), 16);
        (, uint256 newest) = observationOf(page, pool, index);
        put(page, newest, 4);
        (bool isWritten, uint256 oldest) = observationOf(page, pool, (index + 1) % (cardinality == 0 ? 1 : cardinality));
        if (!isWritten) (, oldest) = observationOf(page, pool, 0);
        put(page, oldest, 4);
    }

    /// The time of an observation, and whether it was ever written.
    function observationOf(Page memory page, address pool, uint256 index) private view returns (bool, uint256) {
        argument(page, 0, index);
        (bool ok, uint256 size) = askFor(page, pool, IPool.observations.selector, 36, POOL_GAS, 128);
        if (!ok || size < 128) return (false, 0);
        return (word(page.answer + 96) == 1, uint32(word(page.answer)));
    }

    function liquidityOf(Page memory page, address pool) private view returns (uint256) {
        (bool ok, uint256 size) = askFor(page, pool, IPool.liquidity.selector, 4, POOL_GAS, 32);
        return ok && size >= 32 ? word(page.answer) : 0;
    }

    /// How many quote tokens are there: none if the token does not say it, or a number that cannot be.
    function balanceIn(Page memory page, address pool, address quote) private view returns (uint256) {
        argument(page, 0, uint160(pool));
        (bool ok, uint256 size) = askFor(page, quote, IToken.balanceOf.selector, 36, BALANCE_GAS, 32);
        if (!ok || size < 32 || word(page.answer) >> 128 != 0) return 0;
        return word(page.answer);
    }

    function readPool(Page memory page, bytes calldata row, uint256 points, uint256 windowSec) private view {
        address pool = address(bytes20(row));
        (bool ok, uint256 size) = askFor(page, pool, IPool.slot0.selector, 4, POOL_GAS, 224);
        uint256 root = word(page.answer);
        if (!ok || size < 224 || root == 0) return put(page, 0, 1);
        int256 tick = int256(word(page.answer + 32));
        put(page, 1, 1);
        put(page, root, 20);
        put(page, uint256(tick), 3);
        put(page, liquidityOf(page, pool), 16);
        put(page, balanceIn(page, pool, address(bytes20(row[20:]))), 16);
        if (!observe(page, pool, points, windowSec) && (points == 1 || !observe(page, pool, 1, 0))) put(page, 0, 1);
        uint256 kind = uint8(row[40]);
        // 1, 10, 60, 200: each in 8 bits.
        int256 spacing = int256(uint256(uint8(0x010a3cc8 >> (24 - (kind & 127) * 8))));
        bool isToken1 = kind > 127;
        ticksBelow(page, pool, tick, floorDivide(tick - (isToken1 ? NEAR_TICKS : HALF_TICKS), spacing), spacing);
        ticksAbove(page, pool, tick, floorDivide(tick + (isToken1 ? HALF_TICKS : NEAR_TICKS), spacing) + 1, spacing);
    }

    /// Writes the sums of the oracle at `points` moments; false, and nothing written, if it does not remember them.
    function observe(Page memory page, address pool, uint256 points, uint256 windowSec) private view returns (bool) {
        if (points == 0 || points > POINTS_MAX) return false;
        argument(page, 0, 32);
        argument(page, 1, points);
        for (uint256 i = 0; i < points; i++) {
            argument(page, 2 + i, points == 1 ? 0 : windowSec - (windowSec * i) / (points - 1));
        }
        uint256 answerSize = 128 + points * 64;
        (bool ok, uint256 size) =
            askFor(page, pool, IPool.observe.selector, 68 + points * 32, OBSERVE_GAS, answerSize);
        if (!ok || size < answerSize) return false;
        put(page, points, 1);
        for (uint256 i = 0; i < points; i++) {
            put(page, word(page.answer + 96 + i * 32), 7);
            put(page, word(page.answer + 128 + (points + i) * 32), 20);
        }
        return true;
    }

    /// Writes the initialised ticks at or below the price, down to `low` spacings.
    function ticksBelow(Page memory page, address pool, int256 tick, int256 low, int256 spacing) private view {
        int256 at = floorDivide(tick, spacing);
        uint256 count = 0;
        while (at >= low && count < SIDE_TICKS_MAX) {
            int256 first = (at >> 8) << 8;
            // Bits above the current spacing are shifted out and back.
            uint256 bits = bitmapOf(page, pool, at >> 8);
            uint256 unused = 255 - uint256(at - first);
            bits = (bits << unused) >> unused;
            while (bits != 0 && count < SIDE_TICKS_MAX) {
                uint256 bit = highestBit(bits);
                bits ^= 1 << bit;
                int256 found = first + int256(bit);
                if (found < low) break;
                writeTick(page, pool, found * spacing);
                at = found;
                count++;
            }
            if (count < SIDE_TICKS_MAX) at = first - 1;
        }
        put(page, LIST_END, 3);
        put(page, uint256((count < SIDE_TICKS_MAX ? low : at) * spacing), 3);
    }

    /// Writes the initialised ticks above the price, up to `high` spacings.
    function ticksAbove(Page memory page, address pool, int256 tick, int256 high, int256 spacing) private view {
        int256 at = floorDivide(tick, spacing) + 1;
        uint256 count = 0;
        while (at <= high && count < SIDE_TICKS_MAX) {
            int256 first = (at >> 8) << 8;
            uint256 unused = uint256(at - first);
            uint256 bits = (bitmapOf(page, pool, at >> 8) >> unused) << unused;
            while (bits != 0 && count < SIDE_TICKS_MAX) {
                uint256 bit = highestBit(bits & (~bits + 1));
                bits ^= 1 << bit;
                int256 found = first + int256(bit);
                if (found > high) break;
                writeTick(page, pool, found * spacing);
                at = found;
                count++;
            }
            if (count < SIDE_TICKS_MAX) at = first + 256;
        }
        put(page, LIST_END, 3);
        put(page, uint256((count < SIDE_TICKS_MAX ? high : at) * spacing), 3);
    }

    function bitmapOf(Page memory page, address pool, int256 position) private view returns (uint256) {
        argument(page, 0, uint256(position));
        (bool ok, uint256 size) = askFor(page, pool, IPool.tickBitmap.selector, 36, POOL_GAS, 32);
        return ok && size >= 32 ? word(page.answer) : 0;
    }

    function writeTick(Page memory page, address pool, int256 tick) private view {
        argument(page, 0, uint256(tick));
        (bool ok, uint256 size) = askFor(page, pool, IPool.ticks.selector, 36, POOL_GAS, 64);
        put(page, uint256(tick), 3);
        put(page, ok && size >= 64 ? word(page.answer + 32) : 0, 16);
    }

    function floorDivide(int256 value, int256 divisor) private pure returns (int256 quotient) {
        quotient = value / divisor;
        if (value < 0 && value % divisor != 0) quotient--;
    }

    /// The position of the highest bit of a number above zero.
    function highestBit(uint256 value) private pure returns (uint256 bit) {
        for (uint256 step = 128; step > 0; step >>= 1) {
            if (value >> step == 0) continue;
            value >>= step;
            bit += step;
        }
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
