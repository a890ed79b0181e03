// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

import {LensPage} from '../../../chain/call/page.sol';
import {Prices, PriceSources} from '../prices.sol';

interface IFactory {
    function getPool(address, address, uint24) external view;
}

interface IPool {
    function slot0() external view;
    function observe(uint32[] calldata) external view;
}

interface IToken {
    function balanceOf(address) external view;
    function decimals() external view;
}

/// Finds the pool of Uniswap V3 that says most about the price of each of many tokens: that with most in it of a token
/// that has a price, in one `eth_call`. It is never deployed: its code stands at an address for the length of one call,
/// or runs as the creation code of one.
///
/// Only the factory, its pools and the quote tokens are called, all of them named by configuration or made by the factory:
/// a token that is asked about cannot take part. The answer is a packed stream, big-endian, without padding; `abi.ts`
/// decodes it.
///
///   header    as in `page.sol`, where taken counts tokens, then for each quote token: u8 1 if `decimals` answered a uint8,
///             u8 decimals, its price as in `prices.sol`
///   token     u8 0 without a pool; else 1, u8 quote, address of the pool, u256 quote tokens in it, i24 tick, u8 1 if it can
///             tell what it was, i56 tick cumulative then, i56 now
///
/// A page ends early, and says so by `taken`, before gas could run out inside a call.
contract Lens is LensPage, Prices {
    uint256 private constant POOL_GAS = 50_000;
    uint256 private constant BALANCE_GAS = 150_000;
    /// Where a pool keeps most observations, it looks at 16 of them.
    uint256 private constant OBSERVE_GAS = 400_000;
    /// What is left over to end the page.
    uint256 private constant END_GAS = 250_000;
    /// Decimals of a quote token and its feed together; far more must be an error.
    uint256 private constant DECIMALS_MAX = 54;
    /// 20 bytes of a token and 4 bytes for how old the answer of its feed may be, seconds.
    uint256 private constant QUOTE_ROW = 24;

    struct Best {
        address pool;
        uint256 quote;
        uint256 tier;
        uint256 balance;
    }

    /// Where pools are found. The hash is that of their creation code, which tells their addresses; zero if it is not known.
    struct Origin {
        address factory;
        bytes32 initCodeHash;
    }

    /// `quotes` and `tokens` are packed, 24 and 20 bytes a row. A pool's past is asked `windowSec` back.
    function read(
        Origin calldata origin,
        bytes calldata quotes,
        bytes calldata tokens,
        uint256 windowSec,
        PriceSources calldata prices
    ) external view {
        Page memory page;
        Best memory best;
        page.question = reserve(160);
        page.answer = reserve(192);
        // What one smallest unit of each quote token is worth: the answer of its feed, and the power of ten below it.
        uint256 worth = reserve((quotes.length / QUOTE_ROW) * 64);
        begin(page);
        for (uint256 i = 0; i < quotes.length / QUOTE_ROW; i++) quoteOf(page, quotes, i, worth + i * 64, prices);
        page.checkpoint = page.cursor;
        for (uint256 i = 0; i < tokens.length / 20; i++) {
            address token = address(bytes20(tokens[i * 20:]));
            findBest(page, best, origin, quotes, worth, token);
            tell(page, best, windowSec);
            page.checkpoint = page.cursor;
            page.taken = i + 1;
        }
        finish(page);
    }

    /// Writes what is known of a quote token, and how it weighs; a weight of zero takes it out.
    function quoteOf(
        Page memory page,
        bytes calldata quotes,
        uint256 index,
        uint256 worth,
        PriceSources calldata prices
    ) private view {
        address quote = address(bytes20(quotes[index * QUOTE_ROW:]));
        (bool ok, uint256 size) = askFor(page, quote, IToken.decimals.selector, 4, TEXT_GAS, 32);
        ok = ok && size >= 32 && word(page.answer) < 256;
        uint256 decimals = ok ? word(page.answer) : 0;
        put(page, ok ? 1 : 0, 1);
        put(page, decimals, 1);
        beforeCall(page, priceGasMax(prices));
        uint256 at = page.cursor;
        page.cursor = writePrice(prices, quote, at);
        // No wrapper was opened and its feed answered: the round stands behind these two bytes.
        ok = ok && word(at) >> 240 == 0x0002;
        uint256 answer = word(at + 2);
        uint256 updatedAt = word(at + 34) >> 192;
        decimals += word(at + 42) >> 248;
        uint256 ageMax = uint32(bytes4(quotes[index * QUOTE_ROW + 20:]));
        ok = ok && updatedAt <= block.timestamp && block.timestamp - updatedAt <= ageMax;
        ok = ok && answer > 0 && answer < 1 << 96 && decimals <= DECIMALS_MAX;
        set(worth, ok ? answer : 0);
        set(worth + 32, ok ? 10 ** decimals : 1);
    }

    /// The pool with most quote tokens in it, by what they are worth, in millionths of a dollar. Where addresses of pools
    /// can be calculated, the factory is asked about the best one alone, and about all if it has no such pool: tokens
    /// can be sent to an address without a pool.
    function findBest(
        Page memory page,
        Best memory best,
        Origin calldata origin,
        bytes calldata quotes,
        uint256 worth,
        address token
    ) private view {
        if (origin.initCodeHash != 0) {
            findRichest(page, best, origin, quotes, worth, token, true);
            if (best.balance != 0) {
                address quote = address(bytes20(quotes[best.quote * QUOTE_ROW:]));
                if (poolOf(page.question, origin.factory, token, quote, feeOf(best.tier)) == best.pool) return;
            }
        }
        findRichest(page, best, origin, quotes, worth, token, false);
    }

    /// The same among the pools that the factory has, or among the addresses that they would have.
    function findRichest(
        Page memory page,
        Best memory best,
        Origin calldata origin,
        bytes calldata quotes,
        uint256 worth,
        address token,
        bool isCalculated
    ) private view {
        best.pool = address(0);
        best.balance = 0;
        uint256 most = 0;
        for (uint256 i = 0; i < quotes.length / QUOTE_ROW; i++) {
            address quote = address(bytes20(quotes[i * QUOTE_ROW:]));
            uint256 answer = word(worth + i * 64);
            if (answer == 0 || quote == token) continue;
            // The last of these is for the factory's word about the best one.
            beforeCall(page, 5 * (POOL_GAS + BALANCE_GAS));
            uint256 unit = word(worth + i * 64 + 32);
            for (uint256 tier = 0; tier < 4; tier++) {
                address pool = isCalculated
                    ? addressOf(page.question, origin, token, quote, feeOf(tier))
                    : poolOf(page.question, origin.factory, token, quote, feeOf(tier));
                if (pool == address(0)) continue;
                (bool ok, uint256 balance) = balanceIn(page.question, pool, quote);
                if (!ok) continue;
                uint256 value = (balance * answer * 1_000_000) / unit;
                if (best.pool != address(0) && value <= most) continue;
                (best.pool, best.quote, best.tier, best.balance, most) = (pool, i, tier, balance, value);
            }
        }
    }

    /// 100, 500, 3000, 10000: each in 16 bits.
    function feeOf(uint256 tier) private pure returns (uint256) {
        return uint16(0x006401f40bb82710 >> (48 - tier * 16));
    }

    /// Where a pool would be: CREATE2 with its tokens in order and its fee.
    function addressOf(
        uint256 scratch,
        Origin calldata origin,
        address token,
        address quote,
        uint256 fee
    ) private pure returns (address pool) {
        (address token0, address token1) = token < quote ? (token, quote) : (quote, token);
        (address factory, bytes32 initCodeHash) = (origin.factory, origin.initCodeHash);
        assembly ("memory-safe") {
            mstore(scratch, token0)
            mstore(add(scratch, 32), token1)
            mstore(add(scratch, 64), fee)
            let salt := keccak256(scratch, 96)
            mstore(scratch, or(shl(248, 0xff), shl(88, factory)))
            mstore(add(scratch, 21), salt)
            mstore(add(scratch, 53), initCodeHash)
            pool := and(keccak256(scratch, 85), 0xffffffffffffffffffffffffffffffffffffffff)
        }
    }

    /// The pool that the factory has, zero without one or if it cannot be asked.
    function poolOf(
        uint256 scratch,
        address factory,
        address token,
        address quote,
        uint256 fee
    ) private view returns (address pool) {
        bytes4 getPool = IFactory.getPool.selector;
        assembly ("memory-safe") {
            mstore(scratch, getPool)
            mstore(add(scratch, 4), token)
            mstore(add(scratch, 36), quote)
            mstore(add(scratch, 68), fee)
            let ok := staticcall(POOL_GAS, factory, scratch, 100, scratch, 32)
            if and(ok, gt(returndatasize(), 31)) { pool := mload(scratch) }
        }
    }

    /// How many quote tokens are there; not `ok` if the token does not say it, or a number that cannot be.
    function balanceIn(
        uint256 scratch,
        address pool,
        address quote
    ) private view returns (bool ok, uint256 held) {
        bytes4 balanceOf = IToken.balanceOf.selector;
        assembly ("memory-safe") {
            mstore(scratch, balanceOf)
            mstore(add(scratch, 4), pool)
            ok := staticcall(BALANCE_GAS, quote, scratch, 36, scratch, 32)
            held := mload(scratch)
            ok := and(and(ok, gt(returndatasize(), 31)), iszero(shr(128, held)))
        }
    }

    function tell(Page memory page, Best memory best, uint256 windowSec) private view {
        if (best.pool == address(0)) return put(page, 0, 1);
        put(page, 1, 1);
        put(page, best.quote, 1);
        put(page, uint160(best.pool), 20);
        put(page, best.balance, 32);
        (bool ok, ) = askFor(page, best.pool, IPool.slot0.selector, 4, POOL_GAS, 64);
        put(page, ok ? word(page.answer + 32) : 0, 3);
        argument(page, 0, 32);
        argument(page, 1, 2);
        argument(page, 2, windowSec);
        argument(page, 3, 0);
        uint256 size;
        bool told;
        (told, size) = askFor(page, best.pool, IPool.observe.selector, 132, OBSERVE_GAS, 160);
        told = ok && told && size >= 160;
        put(page, told ? 1 : 0, 1);
        put(page, told ? word(page.answer + 96) : 0, 7);
        put(page, told ? word(page.answer + 128) : 0, 7);
    }

    /// Where there is less gas than the cap, what fails could have failed for want of gas: the page ends instead.
    function beforeCall(Page memory page, uint256 gasMax) internal view override {
        if (gasleft() < gasMax + gasMax / 32 + END_GAS) finish(page);
    }
}
