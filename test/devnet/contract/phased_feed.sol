// SPDX-License-Identifier: MIT
pragma solidity 0.8.27;

/// The contract behind one phase of a price feed: rounds from 1, each with its answer and its time.
contract Aggregator {
    uint8 public immutable decimals;

    struct Round {
        int256 answer;
        uint256 updatedAt;
    }

    Round[] private _rounds;

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    /// Adds a round, at this block's time.
    function transmit(int256 answer) external {
        _rounds.push(Round(answer, block.timestamp));
    }

    function latestRound() external view returns (uint256) {
        return _rounds.length;
    }

    function getRoundData(uint80 id) public view returns (uint80, int256, uint256, uint256, uint80) {
        require(id > 0 && id <= _rounds.length, 'No data present');
        Round storage round = _rounds[id - 1];
        return (id, round.answer, round.updatedAt, round.updatedAt, id);
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return getRoundData(uint80(_rounds.length));
    }
}

/// A price feed as Chainlink's proxies are: aggregators follow each other as phases, and a round's id holds its phase in
/// the bits from 64 on.
contract PhasedFeed {
    uint16 public phaseId;
    mapping(uint16 => Aggregator) public phaseAggregators;

    constructor(Aggregator first) {
        confirmAggregator(first);
    }

    /// Begins the next phase.
    function confirmAggregator(Aggregator next) public {
        phaseId += 1;
        phaseAggregators[phaseId] = next;
    }

    function aggregator() public view returns (Aggregator) {
        return phaseAggregators[phaseId];
    }

    function decimals() external view returns (uint8) {
        return aggregator().decimals();
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        (uint80 id, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredIn) = aggregator()
            .latestRoundData();
        return (_withPhase(phaseId, id), answer, startedAt, updatedAt, _withPhase(phaseId, answeredIn));
    }

    function latestAnswer() external view returns (int256 answer) {
        (, answer, , , ) = aggregator().latestRoundData();
    }

    function getRoundData(uint80 id) external view returns (uint80, int256, uint256, uint256, uint80) {
        uint16 phase = uint16(id >> 64);
        (, int256 answer, uint256 startedAt, uint256 updatedAt, ) = phaseAggregators[phase].getRoundData(
            uint80(uint64(id))
        );
        return (id, answer, startedAt, updatedAt, id);
    }

    function _withPhase(uint16 phase, uint80 id) private pure returns (uint80) {
        return (uint80(phase) << 64) | id;
    }
}
