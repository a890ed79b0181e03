// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// The contracts that tell USD prices of a chain's tokens. Both tables are packed and ascend by token.
struct PriceSources {
    /// 40 bytes a row: token, its feed.
    bytes feeds;
    /// 41 bytes a row: token, u8 how it tells its rate, the token inside.
    bytes wrappers;
    /// Zero if the chain has none.
    address aaveOracle;
    /// The feed that tells since when the chain's sequencer is up or down; zero if there is none.
    address sequencerFeed;
}

interface IFeed {
    function latestRoundData() external view;
    function decimals() external view;
    function aggregator() external view;
    function minAnswer() external view;
    function maxAnswer() external view;
}

interface IAaveOracle {
    function BASE_CURRENCY() external view;
    function BASE_CURRENCY_UNIT() external view;
    function getSourceOfAsset(address) external view;
    function getAssetPrice(address) external view;
}

interface IWrapper {
    function convertToAssets(uint256) external view;
    function stEthPerToken() external view;
    function getExchangeRate() external view;
    function exchangeRate() external view;
}

/// What those contracts say about a token, for every lens that answers prices; `price.ts` decides which of them counts.
/// Each call has a gas cap. Nothing is allocated: answers stand some bytes behind the cursor, where memory is free.
///
///   wrappers  u8 how many were opened, none for a token with a feed or a source at Aave's oracle; for each of them: u8 1
///             if it told a rate, u256 rate, u8 decimals of the rate
///   feed      of what is inside: u8 0 if it has none, 1 if its feed does not answer, 2, i256 answer, u64 updatedAt, u8
///             decimals; 3 if its answer is a bound of the aggregator, beyond which it tells nothing; 4 if it is of before
///             a halt of the sequencer that lasts or ended less than an hour ago
///   aave      of what is inside, if it has no feed: u8 0 without a source, 1 without a price, 2, u256 price
abstract contract Prices {
    uint256 private constant FEED_GAS = 100_000;
    uint256 private constant DECIMALS_GAS = 30_000;
    uint256 private constant BOUND_GAS = 30_000;
    /// How long feeds get to tell of what happened while the sequencer was down.
    uint256 private constant HALT_GRACE_SEC = 3_600;
    uint256 private constant AAVE_SOURCE_GAS = 100_000;
    uint256 private constant AAVE_BASE_GAS = 30_000;
    /// US dollars have no address, and eight decimals.
    uint256 private constant AAVE_UNIT = 1e8;
    /// Plenty: behind a price may stand several contracts.
    uint256 private constant AAVE_PRICE_GAS = 1_000_000;
    uint256 private constant RATE_GAS = 300_000;
    /// A vault of lending markets takes 45,000 a market of its queue, which holds 30.
    uint256 private constant VAULT_GAS = 2_000_000;
    /// A vault's rate is asked for 10^9 whole tokens: of one, a token of few decimals inside leaves seven digits.
    uint256 private constant VAULT_DIGITS = 9;

    uint256 private constant FEED_ROW = 40;
    uint256 private constant WRAPPER_ROW = 41;
    uint256 private constant WRAPPERS_MAX = 2;
    /// The longest answer about a price, and where free memory begins behind the cursor.
    uint256 internal constant PRICE_BYTES_MAX = 160;
    uint256 private constant SCRATCH = 192;

    /// What the price of one token can burn.
    function priceGasMax(PriceSources calldata sources) internal pure returns (uint256 gasMax) {
        bool hasOracle = sources.aaveOracle != address(0);
        if (sources.feeds.length > 0) gasMax += FEED_GAS + DECIMALS_GAS + 3 * BOUND_GAS;
        if (sources.sequencerFeed != address(0)) gasMax += FEED_GAS;
        if (hasOracle) gasMax += AAVE_SOURCE_GAS + AAVE_PRICE_GAS + 2 * AAVE_BASE_GAS;
        if (sources.wrappers.length == 0) return gasMax;
        gasMax += WRAPPERS_MAX * (VAULT_GAS + 2 * DECIMALS_GAS);
        if (hasOracle) gasMax += WRAPPERS_MAX * AAVE_SOURCE_GAS;
    }

    /// Writes what is said about the token at the cursor; returns the cursor behind it.
    function writePrice(
        PriceSources calldata sources,
        address token,
        uint256 cursor
    ) internal view returns (uint256) {
        uint256 start = cursor++;
        uint256 opened = 0;
        while (true) {
            uint256 row = rowOf(sources.feeds, FEED_ROW, token);
            if (row != 0) {
                store8(start, opened);
                return store8(writeRound(sources.sequencerFeed, addressAt(row + 20), cursor), 0);
            }
            bool hasSource = aaveKnows(sources.aaveOracle, token, cursor);
            row = hasSource || opened == WRAPPERS_MAX ? 0 : rowOf(sources.wrappers, WRAPPER_ROW, token);
            if (row == 0) {
                store8(start, opened);
                return writeAave(sources.aaveOracle, hasSource, token, store8(cursor, 0));
            }
            address inside = addressAt(row + 21);
            cursor = writeRate(uint8(calldataWord(row + 20) >> 248), token, inside, cursor);
            token = inside;
            opened++;
        }
        return cursor;
    }

    /// Where the token's row begins in the call data; 0 if it has none.
    function rowOf(bytes calldata rows, uint256 size, address token) private pure returns (uint256) {
        uint256 low = 0;
        uint256 high = rows.length / size;
        uint256 start;
        assembly ("memory-safe") {
            start := rows.offset
        }
        while (low < high) {
            uint256 middle = (low + high) / 2;
            address found = addressAt(start + middle * size);
            if (found == token) return start + middle * size;
            if (found < token) low = middle + 1;
            else high = middle;
        }
        return 0;
    }

    /// The latest round of a feed.
    function writeRound(address sequencerFeed, address feed, uint256 cursor) private view returns (uint256) {
        uint256 scratch = cursor + SCRATCH;
        if (!ask(feed, IFeed.latestRoundData.selector, FEED_GAS, 160, scratch)) return store8(cursor, 1);
        uint256 answer = load(scratch + 32);
        uint256 updatedAt = load(scratch + 96);
        (bool ok, uint256 decimals) = decimalsOf(feed, scratch);
        if (!ok || updatedAt >= 1 << 64) return store8(cursor, 1);
        if (isBound(feed, int256(answer), scratch)) return store8(cursor, 3);
        if (isOfBeforeHalt(sequencerFeed, updatedAt, scratch)) return store8(cursor, 4);
        cursor = store(store8(cursor, 2), answer);
        store(cursor, updatedAt << 192);
        return store8(cursor + 8, decimals);
    }

    /// Whether an answer is the least or the greatest of its aggregator, which is behind the feed or is the feed.
    function isBound(address feed, int256 answer, uint256 scratch) private view returns (bool) {
        if (ask(feed, IFeed.aggregator.selector, BOUND_GAS, 32, scratch)) feed = address(uint160(load(scratch)));
        if (!ask(feed, IFeed.minAnswer.selector, BOUND_GAS, 32, scratch)) return false;
        int256 least = int256(load(scratch));
        if (!ask(feed, IFeed.maxAnswer.selector, BOUND_GAS, 32, scratch)) return false;
        int256 greatest = int256(load(scratch));
        return least < greatest && (answer <= least || answer >= greatest);
    }

    /// Whether a round is older than a halt of the sequencer, while it lasts and for an hour after. A sequencer feed that
    /// does not answer takes no price away.
    function isOfBeforeHalt(address feed, uint256 updatedAt, uint256 scratch) private view returns (bool) {
        if (feed == address(0)) return false;
        if (!ask(feed, IFeed.latestRoundData.selector, FEED_GAS, 160, scratch)) return false;
        uint256 since = load(scratch + 64);
        bool isDown = load(scratch + 32) != 0;
        return updatedAt < since && (isDown || block.timestamp < since + HALT_GRACE_SEC);
    }

    /// Whether Aave's oracle has a contract to ask about the token. An oracle that does not answer may have one: then the
    /// token has a source that failed, which no other one replaces.
    function aaveKnows(address oracle, address token, uint256 cursor) private view returns (bool) {
        if (oracle == address(0)) return false;
        uint256 scratch = cursor + SCRATCH;
        bytes4 selector = IAaveOracle.getSourceOfAsset.selector;
        return !ask1(oracle, selector, uint160(token), AAVE_SOURCE_GAS, scratch) || uint160(load(scratch)) != 0;
    }

    function writeAave(
        address oracle,
        bool hasSource,
        address token,
        uint256 cursor
    ) private view returns (uint256) {
        if (!hasSource) return store8(cursor, 0);
        uint256 scratch = cursor + SCRATCH;
        bytes4 selector = IAaveOracle.getAssetPrice.selector;
        if (!ask1(oracle, selector, uint160(token), AAVE_PRICE_GAS, scratch)) return store8(cursor, 1);
        uint256 price = load(scratch);
        if (!countsDollars(oracle, scratch)) return store8(cursor, 1);
        return store(store8(cursor, 2), price);
    }

    /// An oracle of a market may count in another currency: its numbers are no prices then.
    function countsDollars(address oracle, uint256 scratch) private view returns (bool) {
        if (!ask(oracle, IAaveOracle.BASE_CURRENCY.selector, AAVE_BASE_GAS, 32, scratch)) return false;
        if (load(scratch) != 0) return false;
        return ask(oracle, IAaveOracle.BASE_CURRENCY_UNIT.selector, AAVE_BASE_GAS, 32, scratch)
            && load(scratch) == AAVE_UNIT;
    }

    /// How much of the token inside one wrapper token is worth: `rate` / 10^decimals, both whole. Ways: 0 one for one, 1
    /// `convertToAssets`, 2 `stEthPerToken`, 3 `getExchangeRate` or `exchangeRate`.
    function writeRate(uint256 way, address token, address inside, uint256 cursor) private view returns (uint256) {
        uint256 scratch = cursor + SCRATCH;
        bool ok = true;
        uint256 decimals = 18;
        if (way == 0) {
            store(scratch, 1);
            decimals = 0;
        } else if (way == 1) {
            uint256 ofToken;
            (ok, ofToken) = decimalsOf(token, scratch);
            if (ok) (ok, decimals) = decimalsOf(inside, scratch);
            // 10^78 is more than a word holds, and a byte more than 255.
            ok = ok && ofToken + VAULT_DIGITS < 78 && decimals + VAULT_DIGITS < 256
                && ask1(token, IWrapper.convertToAssets.selector, 10 ** (ofToken + VAULT_DIGITS), VAULT_GAS, scratch);
            decimals += VAULT_DIGITS;
        } else if (way == 2) {
            ok = ask(token, IWrapper.stEthPerToken.selector, RATE_GAS, 32, scratch);
        } else {
            ok = ask(token, IWrapper.getExchangeRate.selector, RATE_GAS / 2, 32, scratch)
                || ask(token, IWrapper.exchangeRate.selector, RATE_GAS / 2, 32, scratch);
        }
        uint256 rate = load(scratch);
        cursor = store(store8(cursor, ok ? 1 : 0), ok ? rate : 0);
        return store8(cursor, ok ? decimals : 0);
    }

    /// True if the contract told a uint8.
    function decimalsOf(address target, uint256 scratch) private view returns (bool ok, uint256 decimals) {
        ok = ask(target, IFeed.decimals.selector, DECIMALS_GAS, 32, scratch) && load(scratch) < 256;
        decimals = ok ? load(scratch) : 0;
    }

    /// A question with one argument, answered by a word.
    function ask1(
        address target,
        bytes4 selector,
        uint256 argument,
        uint256 gasMax,
        uint256 scratch
    ) private view returns (bool) {
        store(scratch + 4, argument);
        return askSource(target, selector, 36, gasMax, 32, scratch);
    }

    function ask(
        address target,
        bytes4 selector,
        uint256 gasMax,
        uint256 size,
        uint256 scratch
    ) private view returns (bool) {
        return askSource(target, selector, 4, gasMax, size, scratch);
    }

    /// True if it answered, with at least `size` bytes; the question before, and no more of the answer than that after,
    /// stand in `scratch`.
    function askSource(
        address target,
        bytes4 selector,
        uint256 questionSize,
        uint256 gasMax,
        uint256 size,
        uint256 scratch
    ) private view returns (bool ok) {
        assembly ("memory-safe") {
            mstore(scratch, or(selector, and(mload(scratch), shr(32, not(0)))))
            ok := staticcall(gasMax, target, scratch, questionSize, scratch, size)
            ok := and(ok, iszero(lt(returndatasize(), size)))
        }
    }

    function addressAt(uint256 place) private pure returns (address) {
        return address(uint160(calldataWord(place) >> 96));
    }

    function calldataWord(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := calldataload(place)
        }
    }

    function load(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(place)
        }
    }

    /// Writes a word; returns where the next byte goes.
    function store(uint256 place, uint256 value) private pure returns (uint256) {
        assembly ("memory-safe") {
            mstore(place, value)
        }
        return place + 32;
    }

    function store8(uint256 place, uint256 value) private pure returns (uint256) {
        assembly ("memory-safe") {
            mstore8(place, value)
        }
        return place + 1;
    }
}
