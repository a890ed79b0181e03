// SPDX-License-Identifier: MIT
pragma solidity 0.8.19;

import { Market, MarketParams } from '@morpho-org/morpho-blue/src/interfaces/IMorpho.sol';

/// The interest-rate model of Morpho's own markets: a curve through the rate at 90 % utilization, and that rate drifts
/// up while utilization is above and down while it is below. Every division rounds toward zero; rates are per second,
/// all numbers have 18 decimals.
contract AdaptiveCurve {
    int256 private constant ONE = 1e18;
    int256 private constant YEAR = 365 days;
    int256 private constant TARGET = 0.9e18;
    int256 private constant STEEPNESS = 4e18;
    int256 private constant SPEED = 50e18 / YEAR;
    int256 private constant RATE_FIRST = 0.04e18 / YEAR;
    int256 private constant RATE_MIN = 0.001e18 / YEAR;
    int256 private constant RATE_MAX = 2e18 / YEAR;
    int256 private constant LN_2 = 0.693147180559945309e18;

    address public immutable MORPHO;
    mapping(bytes32 => int256) public rateAtTarget;

    constructor(address morpho) {
        MORPHO = morpho;
    }

    function borrowRate(MarketParams calldata params, Market calldata market) external returns (uint256 rate) {
        require(msg.sender == MORPHO, 'not morpho');
        bytes32 id = keccak256(abi.encode(params));
        int256 end;
        (rate, end) = rates(id, market);
        rateAtTarget[id] = end;
    }

    function borrowRateView(MarketParams calldata params, Market calldata market) external view returns (uint256 rate) {
        (rate, ) = rates(keccak256(abi.encode(params)), market);
    }

    function rates(bytes32 id, Market calldata market) private view returns (uint256, int256) {
        int256 deviation = deviationOf(market);
        int256 start = rateAtTarget[id];
        if (start == 0) return (curve(RATE_FIRST, deviation), RATE_FIRST);
        int256 drift = (SPEED * deviation / ONE) * int256(block.timestamp - market.lastUpdate);
        if (drift == 0) return (curve(start, deviation), start);
        int256 end = drifted(start, drift);
        int256 average = (start + end + 2 * drifted(start, drift / 2)) / 4;
        return (curve(average, deviation), end);
    }

    /// How far utilization is from the target, as a share of the way to 0 % or 100 %.
    function deviationOf(Market calldata market) private pure returns (int256) {
        int256 used = 0;
        if (market.totalSupplyAssets > 0) {
            used = int256((uint256(market.totalBorrowAssets) * uint256(ONE)) / market.totalSupplyAssets);
        }
        return (used - TARGET) * ONE / (used > TARGET ? ONE - TARGET : TARGET);
    }

    function curve(int256 rate, int256 deviation) private pure returns (uint256) {
        int256 slope = deviation < 0 ? ONE - ONE * ONE / STEEPNESS : STEEPNESS - ONE;
        return uint256((slope * deviation / ONE + ONE) * rate / ONE);
    }

    function drifted(int256 rate, int256 drift) private pure returns (int256 moved) {
        moved = rate * exponential(drift) / ONE;
        if (moved < RATE_MIN) return RATE_MIN;
        if (moved > RATE_MAX) return RATE_MAX;
    }

    /// e^x by powers of two and the first three terms of the series, as rough as the original.
    function exponential(int256 x) private pure returns (int256) {
        if (x < -41.446531673892822312e18) return 0;
        if (x >= 93.859467695000404319e18) return 57716089161558943949701069502944508345128422502756744429568;
        int256 doublings = (x + (x < 0 ? -(LN_2 / 2) : LN_2 / 2)) / LN_2;
        int256 rest = x - doublings * LN_2;
        int256 small = ONE + rest + rest * rest / ONE / 2;
        return doublings >= 0 ? small << uint256(doublings) : small >> uint256(-doublings);
    }
}

/// A model without memory: a base rate and a slope over utilization. It can be made to stop answering.
contract LinearIrm {
    uint256 public base;
    uint256 public slope;
    bool public silent;

    constructor(uint256 base_, uint256 slope_) {
        base = base_;
        slope = slope_;
    }

    function set(uint256 base_, uint256 slope_, bool silent_) external {
        base = base_;
        slope = slope_;
        silent = silent_;
    }

    function borrowRate(MarketParams calldata params, Market calldata market) external view returns (uint256) {
        return borrowRateView(params, market);
    }

    function borrowRateView(MarketParams calldata, Market calldata market) public view returns (uint256) {
        require(!silent, 'silent');
        if (market.totalSupplyAssets == 0) return base;
        return base + slope * market.totalBorrowAssets / market.totalSupplyAssets;
    }
}
