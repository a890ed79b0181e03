// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// The contracts that tell USD prices of a chain's tokens.
struct PriceSources {
    address[] tokens;
    /// The feed of the token at the same place.
    address[] feeds;
    /// Zero where the chain has none.
    address aaveOracle;
}

interface IFeed {
    function latestRoundData() external view;
    function decimals() external view;
}

interface IAaveOracle {
    function getSourceOfAsset(address) external view;
    function getAssetPrice(address) external view;
}

/// What those contracts say about a token, for every lens that answers prices; `price.ts` decides which of them counts.
/// Each call has a gas cap. Nothing is allocated: the caller gives the address of 160 bytes of `scratch` memory.
abstract contract Prices {
    uint256 private constant FEED_GAS = 100_000;
    uint256 private constant FEED_DECIMALS_GAS = 30_000;
    uint256 private constant AAVE_SOURCE_GAS = 100_000;
    /// Plenty: behind a price may stand several contracts.
    uint256 private constant AAVE_PRICE_GAS = 1_000_000;
    /// What the price of one token can burn.
    uint256 internal constant FEED_GAS_MAX = FEED_GAS + FEED_DECIMALS_GAS;
    uint256 internal constant AAVE_GAS_MAX = AAVE_SOURCE_GAS + AAVE_PRICE_GAS;

    /// The token's feed, or zero.
    function feedOf(PriceSources calldata sources, address token) internal pure returns (address feed) {
        for (uint256 i = 0; i < sources.tokens.length; i++) {
            if (sources.tokens[i] == token) feed = sources.feeds[i];
        }
    }

    /// The latest round of a feed, if it answers.
    function latestRound(
        address feed,
        uint256 scratch
    ) internal view returns (bool ok, uint256 answer, uint256 updatedAt, uint256 decimals) {
        if (!askSource(feed, IFeed.latestRoundData.selector, 4, FEED_GAS, 160, scratch)) return (false, 0, 0, 0);
        answer = wordAt(scratch + 32);
        updatedAt = wordAt(scratch + 96);
        if (!askSource(feed, IFeed.decimals.selector, 4, FEED_DECIMALS_GAS, 32, scratch)) return (false, 0, 0, 0);
        return (true, answer, updatedAt, wordAt(scratch));
    }

    /// The contract that Aave's oracle asks about the token, zero if there is none, and the price if it answers. Asked
    /// about tokens with a feed too: whether that feed's answer is usable is not decided here.
    function aavePrice(
        address oracle,
        address token,
        uint256 scratch
    ) internal view returns (address source, bool ok, uint256 price) {
        if (oracle == address(0)) return (address(0), false, 0);
        if (askAbout(oracle, IAaveOracle.getSourceOfAsset.selector, token, AAVE_SOURCE_GAS, scratch)) {
            source = address(uint160(wordAt(scratch)));
        }
        if (source == address(0)) return (address(0), false, 0);
        ok = askAbout(oracle, IAaveOracle.getAssetPrice.selector, token, AAVE_PRICE_GAS, scratch);
        price = ok ? wordAt(scratch) : 0;
    }

    function askAbout(
        address oracle,
        bytes4 selector,
        address token,
        uint256 gasMax,
        uint256 scratch
    ) private view returns (bool) {
        assembly ("memory-safe") {
            mstore(add(scratch, 4), token)
        }
        return askSource(oracle, selector, 36, gasMax, 32, scratch);
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

    function wordAt(uint256 place) private pure returns (uint256 value) {
        assembly ("memory-safe") {
            value := mload(place)
        }
    }
}
