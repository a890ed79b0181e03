// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

interface ILatestAnswer {
    function latestAnswer() external view returns (int256);
}

/// What Aave's oracle asks for a stablecoin: the token's own feed, cut at a cap. Like the real one, it has no
/// `latestRoundData`, so that callers cannot learn the age of the answer.
contract CapAdapter {
    ILatestAnswer public immutable ASSET_TO_USD_AGGREGATOR;
    int256 public immutable priceCap;
    uint8 public constant decimals = 8;

    constructor(ILatestAnswer feed, int256 priceCap_) {
        ASSET_TO_USD_AGGREGATOR = feed;
        priceCap = priceCap_;
    }

    function latestAnswer() external view returns (int256) {
        int256 answer = ASSET_TO_USD_AGGREGATOR.latestAnswer();
        return answer > priceCap ? priceCap : answer;
    }
}
